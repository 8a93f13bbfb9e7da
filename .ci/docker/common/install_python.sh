#!/usr/bin/env bash
# Make /opt/venv, the Python environment that builds run in, of the version ANACONDA_PYTHON_VERSION; login shells have it active.
#
# uv, pinned by hashes, finds the interpreter of that version, or fetches one. Certificates that the base image trusts count.
set -euo pipefail

: "${ANACONDA_PYTHON_VERSION:?name the Python to build with, such as 3.11}"
pins=${PINS_FILE:-/opt/hipwright/pins.txt}
export UV_PYTHON_INSTALL_DIR=/opt/python UV_NO_CONFIG=1 UV_NO_CACHE=1 UV_SYSTEM_CERTS=1

python3 -m venv /opt/uv
/opt/uv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check --require-hashes --requirement "$pins"
/opt/uv/bin/uv python find --quiet --system "$ANACONDA_PYTHON_VERSION" > /dev/null \
  || /opt/uv/bin/uv python install "$ANACONDA_PYTHON_VERSION"
python=$(/opt/uv/bin/uv python find --system "$ANACONDA_PYTHON_VERSION")
"$python" -m venv /opt/venv

cat > /etc/profile.d/python-environment.sh << 'PROFILE'
# The Python environment that builds run in; written by install_python.sh.
export VIRTUAL_ENV=/opt/venv
export PATH="/opt/venv/bin:$PATH"
PROFILE
/opt/venv/bin/python --version
