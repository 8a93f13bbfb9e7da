#!/usr/bin/env bash
# Install ROCm, and write the file of /etc/profile.d that says where it is.
#
# USE_THEROCK_NIGHTLY            1: from Python packages; anything else that is no plain no (0, empty, false): an error
# THEROCK_NIGHTLY_INDEX_URL      the package index that they come from, and nothing else does
# THEROCK_NIGHTLY_PACKAGES       what to install, parted by blanks (default: rocm[libraries,devel])
# ROCM_VERSION                   without the flag: the release in AMD's apt repository, such as 6.4
# ROCM_APT_URL, ROCM_APT_PACKAGES  that repository, and what to install of it, parted by blanks
set -euo pipefail

die() {
  printf 'install_rocm.sh: %s\n' "$*" >&2
  exit 1
}

# Write where ROCm is for login shells: FILE ROOT.
write_profile() {
  local file=$1 root
  printf -v root '%q' "$2"
  {
    printf '# Where ROCm is; written by install_rocm.sh.\n'
    printf 'export ROCM_HOME=%s\n' "$root"
    # shellcheck disable=SC2016 # for the shell that reads the file
    printf '%s\n' \
      'export ROCM_PATH="$ROCM_HOME"' \
      'export HIP_PATH="$ROCM_HOME"' \
      'export CMAKE_PREFIX_PATH="$ROCM_HOME${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"' \
      'export LD_LIBRARY_PATH="$ROCM_HOME/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"' \
      'export PATH="$ROCM_HOME/bin:$ROCM_HOME/lib/llvm/bin:$PATH"'
  } > "$file.new"
  mv "$file.new" "$file"
}

install_from_index() {
  local index=${THEROCK_NIGHTLY_INDEX_URL:-} packages root
  [[ $index =~ ^https?:// ]] || die "THEROCK_NIGHTLY_INDEX_URL has to be the address of a package index, not '$index'"
  read -ra packages <<< "${THEROCK_NIGHTLY_PACKAGES:-rocm[libraries,devel]}"
  [[ ${#packages[@]} -gt 0 ]] || die 'THEROCK_NIGHTLY_PACKAGES names no package'
  # Two ROCm in one image are a mixed stack, which fails late.
  rm -rf /opt/rocm /opt/rocm-[0-9]*
  # ROCm's names may come from this one index: pip's variables and files could name others.
  env -u PIP_INDEX_URL -u PIP_EXTRA_INDEX_URL -u PIP_FIND_LINKS -u PIP_NO_INDEX PIP_CONFIG_FILE=/dev/null \
    python -m pip install --isolated --disable-pip-version-check --no-cache-dir --pre --index-url "$index" "${packages[@]}"
  rocm-sdk init
  root=$(rocm-sdk path --root)
  [[ -n $root && -d $root ]] || die "'rocm-sdk path --root' names no folder: '$root'"
  write_profile /etc/profile.d/rocm-sdk.sh "$root"
  rocm-sdk version
}

install_from_apt() {
  local url=${ROCM_APT_URL:-https://repo.radeon.com/rocm} version=${ROCM_VERSION:-} codename packages
  [[ $version =~ ^[0-9]+\.[0-9]+(\.[0-9]+)?$ ]] || die "ROCM_VERSION has to be a release of ROCm such as 6.4, not '$version'"
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && printf '%s' "${UBUNTU_CODENAME:-${VERSION_CODENAME:-}}")
  [[ -n $codename ]] || die '/etc/os-release names no release of the system'
  read -ra packages <<< "${ROCM_APT_PACKAGES:-rocm-dev rocm-libs rccl-dev roctracer-dev rocprofiler-dev amd-smi-lib}"
  install -d -m 755 /etc/apt/keyrings
  curl --fail --silent --show-error --location "$url/rocm.gpg.key" | gpg --batch --yes --dearmor -o /etc/apt/keyrings/rocm.gpg
  printf 'deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] %s/apt/%s %s main\n' "$url" "$version" "$codename" \
    > /etc/apt/sources.list.d/rocm.list
  # Debian and Ubuntu have packages of these names too.
  printf 'Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n' > /etc/apt/preferences.d/rocm-pin-600
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  apt-get install --yes --no-install-recommends "${packages[@]}"
  rm -rf /var/lib/apt/lists/*
  [[ -d /opt/rocm ]] || die "the packages ${packages[*]} brought no /opt/rocm"
  write_profile /etc/profile.d/rocm.sh /opt/rocm
}

case ${USE_THEROCK_NIGHTLY:-0} in
  1 | true | yes | on)
    install_from_index
    exit 0
    ;;
  0 | false | no | off) ;;
  *) die "USE_THEROCK_NIGHTLY has to be 1 or 0, not '$USE_THEROCK_NIGHTLY'" ;;
esac
install_from_apt
