#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sets GRASP up on a Debian machine, then runs the demonstration or the tests.
#
#   ./build.sh          set up: Debian packages, virtual environment, the package, the P4 program
#   ./build.sh demo     set up, then run a day of green energy and write a report to results/
#   ./build.sh test     set up, then check and test everything
set -eu
cd "$(dirname "$0")"

VENV=.venv
PYTHON=/usr/bin/python3 # the system's, whatever stands first on PATH
# gcc libc6-dev  compile the translated P4 program      python3-venv  the virtual environment
# mininet        mnexec, which starts emulated hosts    iproute2 ethtool util-linux  namespaces and links
# openvswitch-switch  the OpenFlow baseline runs its programs, never its service
PACKAGES="gcc libc6-dev python3 python3-venv mininet iproute2 ethtool util-linux openvswitch-switch"
POLICY=/usr/sbin/policy-rc.d # Debian's way to keep newly installed services from being started
MARK="of GRASP's build.sh while it installs packages"

fail() {
    echo "build.sh: $*" >&2
    exit 2
}

install_packages() {
    missing=
    for package in $PACKAGES; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    [ -z "$missing" ] && return
    command -v apt-get >/dev/null || fail "this is not a Debian machine; install the equivalents of:$missing"
    [ "$(id -u)" = 0 ] || fail "Debian packages are missing; as root run: apt-get install --no-install-recommends$missing"
    echo "Installing Debian packages:$missing"
    DEBIAN_FRONTEND=noninteractive apt-get update -qq || fail "apt-get update failed; see above"
    ours=
    if [ ! -e $POLICY ] || grep -q "$MARK" $POLICY; then # another's stays; one of ours is of a killed build.sh
        ours=1
        trap 'rm -f $POLICY' EXIT
        trap 'exit 130' INT TERM HUP # dash runs the trap above only when it exits
        printf '#!/bin/sh\n# %s\nexit 101\n' "$MARK" >$POLICY
        chmod 755 $POLICY
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
        fail "apt-get could not install:$missing"
    if [ "$ours" ]; then
        rm -f $POLICY
        trap - EXIT INT TERM HUP
    fi
}

# The environment is made anew when the interpreter, pyproject.toml or the folder's place changed.
install_python() { # $1: nothing, or the extra [dev] for tests
    wanted="$("$PYTHON" --version) $(cksum <pyproject.toml) $(pwd)"
    if [ "$(cat $VENV/made-for 2>/dev/null)" != "$wanted" ]; then
        "$PYTHON" -m venv --clear $VENV || fail "could not make $VENV with $PYTHON"
        echo "$wanted" >$VENV/made-for
    fi
    [ -e "$VENV/installed$1" ] && return
    echo "Installing Python packages into $VENV (a minute or two, once)"
    $VENV/bin/python -m pip install --quiet --disable-pip-version-check --editable ".$1" ||
        fail "pip could not install the Python packages; see above"
    touch "$VENV/installed$1"
}

# p4c's output is committed, for machines without p4c.
compile_p4() {
    command -v p4c-bm2-ss >/dev/null || return 0
    sha256sum --quiet --check p4src/build/sha256sums >/dev/null 2>&1 && return
    echo "Compiling p4src/grasp.p4"
    p4c-bm2-ss --arch v1model --p4runtime-files p4src/build/grasp.p4info.txtpb \
        -o p4src/build/grasp.json p4src/grasp.p4 || fail "p4c-bm2-ss failed; see above"
    sha256sum p4src/*.p4 p4src/build/grasp.json p4src/build/grasp.p4info.txtpb >p4src/build/sha256sums
}

set_up() { # $1: as for install_python
    install_packages
    install_python "$1"
    compile_p4
}

run_tests() {
    $VENV/bin/ruff check .
    $VENV/bin/ruff format --check .
    $VENV/bin/mypy
    $VENV/bin/clang-format --dry-run --Werror $(find targets topo tests -name '*.[ch]')
    $VENV/bin/python -m pytest -q "$@"
}

command=${1:-setup}
[ $# -gt 0 ] && shift
case "$command" in
setup)
    set_up ""
    echo "Ready. Try: ./build.sh demo, or $VENV/bin/grasp --help"
    ;;
demo)
    set_up ""
    $VENV/bin/grasp run "$@"
    ;;
test)
    set_up "[dev]"
    run_tests "$@"
    ;;
*) fail "unknown command '$command'; use no argument, demo or test" ;;
esac
