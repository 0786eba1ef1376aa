# Puts the shims first in PATH, again: a login shell's /etc/profile has just set PATH anew.
#
# Agent images only. In a sidecar it would send the tools back to where they came from.
if [ -d /opt/aifo/bin ]; then
    case $PATH in
    /opt/aifo/bin | /opt/aifo/bin:*) ;;
    *) PATH=/opt/aifo/bin:$PATH ;;
    esac
    export PATH
fi
