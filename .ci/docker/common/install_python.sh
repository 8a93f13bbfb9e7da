#!/usr/bin/env bash
# Make /opt/venv, the Python environment that builds run in, of the version ANACONDA_PYTHON_VERSION; login shells have it active.
#
# uv, pinned by hashes, takes the interpreter of that version from the system, or fetches one.
set -euo pipefail

: "${ANACONDA_PYTHON_VERSION:?name the Python to build with, such as 3.11}"
pins=${PINS_FILE:-/opt/hipwright/pins.txt}

python3 -m venv /opt/uv
/opt/uv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check --require-hashes --requirement "$pins"
UV_PYTHON_INSTALL_DIR=/opt/python /opt/uv/bin/uv venv --no-config --no-cache --seed --python "$ANACONDA_PYTHON_VERSION" /opt/venv

cat > /etc/profile.d/python-environment.sh << 'PROFILE'
# The Python environment that builds run in; written by install_python.sh.
export VIRTUAL_ENV=/opt/venv
export PATH="/opt/venv/bin:$PATH"
PROFILE
/opt/venv/bin/python --version
