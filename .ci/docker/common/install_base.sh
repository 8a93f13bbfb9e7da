#!/usr/bin/env bash
# Install what builds of PyTorch need of the system: compilers, CMake, Ninja, git, and a Python to begin with.
set -euo pipefail

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends \
  build-essential \
  ca-certificates \
  ccache \
  cmake \
  curl \
  git \
  gpg \
  libnuma-dev \
  libopenblas-dev \
  ninja-build \
  patchelf \
  pkg-config \
  python3 \
  python3-venv
rm -rf /var/lib/apt/lists/*
