#!/usr/bin/env bash
# Install the simulators that neuromap is compared with, each into an environment of its own under build/peers.
#
#   benchmarks/peers/install.sh                     all of them; those that are there are left alone
#   benchmarks/peers/install.sh brian2 sanafe       some of them
#
# GENN_SOURCE and RANC_SOURCE name a git repository or a folder where GitHub cannot be reached. GeNN needs g++, make
# and libffi's headers, RANC cmake and g++, Brian2 g++. RANC lives beside Python: ranc/ranc_sim.
set -euo pipefail
cd "$(dirname "$0")/../.."
self="$PWD/benchmarks/peers/install.sh"
home="$PWD/build/peers"
pins="$PWD/benchmarks/peers/requirements.txt"
python="${PYTHON:-python3}"
genn_source="${GENN_SOURCE:-https://github.com/genn-team/genn}"
genn_commit=5.4.0
ranc_source="${RANC_SOURCE:-https://github.com/UA-RCL/RANC}"
ranc_commit=08ae4bdddc60c6c480708f0b9298cff798fe354f

with_pip() { # NAME PACKAGE...
  local bin="$home/$1/bin"
  [ -x "$bin/python" ] || "$python" -m venv "$home/$1"
  "$bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$pins" "${@:2}"
}

source_of() { # NAME SOURCE COMMIT
  local to="$home/src/$1"
  [ -d "$to" ] && return
  mkdir -p "$home/src"
  if [ -d "$2" ] && [ ! -e "$2/HEAD" ] && [ ! -d "$2/.git" ]; then
    cp -R "$2" "$to"
  else
    git clone --quiet --no-checkout "$2" "$to" && git -C "$to" checkout --quiet "$3"
  fi
}

install() {
  case "$1" in
    brian2) with_pip brian2 brian2 numpy ;;
    nengo) with_pip nengo nengo numpy scipy ;;
    nest) with_pip nest nest-simulator numpy ;;
    sanafe) with_pip sanafe sanafe numpy pyyaml ;; # its tutorial, which has the network of benchmarks.validation, reads YAML
    genn)
      source_of genn "$genn_source" "$genn_commit"
      with_pip genn numpy setuptools wheel pybind11 psutil pkgconfig
      "$home/genn/bin/python" -m pip install --quiet --disable-pip-version-check "$home/src/genn"
      ;;
    ranc)
      source_of ranc "$ranc_source" "$ranc_commit"
      with_pip ranc numpy
      # Its own build file asks for no optimisation and for a cmake older than today's.
      cmake -S "$home/src/ranc/simulator" -B "$home/ranc/build" -Wno-dev -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
        -DCMAKE_CXX_FLAGS="-O3 -march=native" >/dev/null 2>&1
      cmake --build "$home/ranc/build" >/dev/null
      cp "$home/ranc/build/ranc_sim" "$home/ranc/ranc_sim"
      ;;
    *) echo "install.sh: $1 is not known; peers are brian2 genn nest nengo sanafe ranc" >&2 && exit 2 ;;
  esac
}

[ $# -gt 0 ] || set -- brian2 genn nest nengo sanafe ranc
if [ $# -eq 1 ]; then
  [ -e "$home/$1/.installed" ] && exit
  install "$1"
  touch "$home/$1/.installed"
  exit
fi
missing=()
for peer in "$@"; do
  echo "$peer ..."
  "$self" "$peer" || missing+=("$peer")
done
if ((${#missing[@]})); then
  echo "not installed: ${missing[*]}" >&2
  exit 1
fi
