#!/usr/bin/env bash
# Run a command as a login shell would: with what the files of /etc/profile.d say.
set -eo pipefail
# shellcheck source=/dev/null
for file in /etc/profile.d/*.sh; do
  [[ ! -r $file ]] || . "$file"
done
exec "$@"
