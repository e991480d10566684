#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds StarPU 1.4 from Debian's source package into a prefix, with the limits a machine needs.
#
# In: options below; the source comes through apt (a private apt state: the system's is not touched)
# or from a tarball you give. Out: PREFIX with headers, libraries, pkg-config file and, on request,
# the examples and tests. StarPU's maxima are part of its ABI: build the plug-in against exactly this prefix.
set -euo pipefail

usage() {
    cat <<'END'
usage: tools/starpu-build.sh --prefix DIR [options]

  --prefix DIR     where to install
  --cuda[=DIR]     with CUDA from DIR (default /usr/local/cuda)
  --simgrid        with SimGrid: runs programs on modelled machines, no OpenCL or CUDA
  --mpi            with StarPU-MPI
  --examples       build the examples too; they stay in PREFIX/build
  --tests          build StarPU's own tests too, in their quick form; they stay there as well
  --cpus N         at most N CPU workers (default: this machine's, at least 64)
  --source FILE    a starpu_1.4.*.orig.tar.gz you already have
  --dry-run        print the configure line and stop
  -h, --help       this text

The configure and make output goes to PREFIX/build.log. With SimGrid, libglpk-dev adds StarPU's own
lower bound (-bound of its examples).
END
}

fail() {
    echo "starpu-build: $1" >&2
    exit "${2:-1}"
}

wrong_usage() {
    echo "starpu-build: $1; see tools/starpu-build.sh --help" >&2
    exit 2
}

need() {
    command -v "$1" >/dev/null || fail "$1 is not installed: apt-get install $2"
}

# Debian's unstable suite holds the 1.4 source; its index is read into a folder of its own.
download() {
    local into=$1 apt=$1/apt
    command -v apt-get >/dev/null || fail "needs apt to download the source; give --source FILE"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    local mirror
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' |
        grep -m 1 '/debian$' || true)
    [ -n "$mirror" ] || fail "no Debian mirror is configured in apt; give --source FILE"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" \
        >"$apt/sources.list"
    local -a options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update || fail "could not read the index of Debian's unstable suite"
    (cd "$into" && apt-get "${options[@]}" source --download-only --only-source starpu) ||
        fail "could not download the source of starpu"
    rm -rf "$apt"
}

unpack() {
    local from=$1 into=$2
    mkdir -p "$into"
    if ! tar -xf "$from" -C "$into" --strip-components 1 || [ ! -f "$into/STARPU-VERSION" ] ||
        [ ! -x "$into/configure" ]; then
        rm -rf "$into"
        fail "$from is not a source archive of StarPU"
    fi
    # CUDA 13 dropped a field of its device properties; ask for the attribute instead.
    local driver=$into/src/drivers/cuda/driver_cuda.c
    if grep -q 'props\[devid\].computeMode' "$driver"; then
        sed -i 's/props\[devid\]\.computeMode/compute_mode/' "$driver"
        sed -i '/compute_mode == cudaComputeModeExclusive/i\
		int compute_mode = 0; cudaDeviceGetAttribute(\&compute_mode, cudaDevAttrComputeMode, devid);' "$driver"
    fi
}

prefix='' cuda='' simgrid=false mpi=false examples=false tests=false source='' dry_run=false
cpus=$(nproc)
[ "$cpus" -ge 64 ] || cpus=64
while [ $# -gt 0 ]; do
    case "$1" in
        --prefix | --cpus | --source)
            [ $# -ge 2 ] || wrong_usage "$1 needs a value"
            option=$1 && shift
            set -- "$option=$1" "${@:2}"
            continue ;;
        --prefix=*) prefix=${1#*=} ;;
        --cuda) cuda=/usr/local/cuda ;;
        --cuda=*) cuda=${1#*=} ;;
        --simgrid) simgrid=true ;;
        --mpi) mpi=true ;;
        --examples) examples=true ;;
        --tests) tests=true ;;
        --cpus=*) cpus=${1#*=} ;;
        --source=*) source=${1#*=} ;;
        --dry-run) dry_run=true ;;
        -h | --help) usage; exit 0 ;;
        *) wrong_usage "unknown argument '$1'" ;;
    esac
    shift
done
[ -n "$prefix" ] || wrong_usage "--prefix is missing"
[[ $cpus =~ ^[1-9][0-9]{0,4}$ ]] || wrong_usage "--cpus '$cpus' is not a number of cores"
$simgrid && [ -n "$cuda" ] && wrong_usage "--simgrid models its GPUs: leave out --cuda"
prefix=$(realpath -m -- "$prefix")
# Neither StarPU's configure nor its Makefiles stand a space in a path.
[[ $prefix =~ [[:space:]] ]] && fail "the prefix must not contain a space: '$prefix'"
[ ! -e "$prefix" ] || [ -d "$prefix" ] || fail "the prefix is not a folder: $prefix"
# What is in the way is only removed when it is a build of ours.
[ ! -e "$prefix/build" ] || [ -f "$prefix/build/STARPU-VERSION" ] ||
    fail "$prefix/build exists and is not StarPU's: choose another prefix"
[ -z "$source" ] || [ -f "$source" ] || fail "no such file: $source"
[ -z "$cuda" ] || [ -x "$cuda/bin/nvcc" ] || fail "no nvcc in $cuda/bin"
need make make
need cc gcc
need pkg-config pkg-config
pkg-config --exists hwloc || fail "hwloc's header is not installed: apt-get install libhwloc-dev"
$mpi && need mpicc libopenmpi-dev
if $simgrid; then
    need c++ g++
    pkg-config --exists simgrid || fail "SimGrid is not installed: apt-get install libsimgrid-dev"
fi

configure=(--prefix="$prefix" --enable-maxcpus="$cpus" --enable-max-sched-ctxs=64
    --enable-maxbuffers=16 --disable-build-doc --disable-build-doc-pdf
    --disable-fortran --disable-starpufft --disable-socl --disable-starpupy --disable-hdf5
    --disable-parallel-worker)
$mpi || configure+=(--disable-mpi)
$examples || configure+=(--disable-build-examples)
if $tests; then
    configure+=(--enable-quick-check)
else
    configure+=(--disable-build-tests)
fi
if $simgrid; then
    configure+=(--enable-simgrid --enable-maxcudadev=8 --disable-opencl)
elif [ -n "$cuda" ]; then
    configure+=(--with-cuda-dir="$cuda" --enable-maxcudadev=8 "LDFLAGS=-L$cuda/lib64/stubs")
else
    configure+=(--disable-cuda)
fi
if $dry_run; then
    echo "./configure ${configure[*]}"
    exit 0
fi

mkdir -p "$prefix" 2>/dev/null && [ -w "$prefix" ] || fail "cannot write to $prefix"
log=$prefix/build.log
if [ -z "$source" ]; then
    download "$prefix"
    for file in "$prefix"/starpu_1.4*.orig.tar.*; do
        [ ! -f "$file" ] || source=$file
    done
    [ -n "$source" ] || fail "the downloaded source is not version 1.4; give --source FILE"
fi
rm -rf "$prefix/build"
unpack "$source" "$prefix/build"
cd "$prefix/build"
echo "starpu-build: configuring $(basename "$source"); log in $log"
./configure "${configure[@]}" >"$log" 2>&1 || fail "configure failed; see $log"
echo "starpu-build: compiling, which takes some minutes"
if $examples || $tests; then
    # Debian strips a file that is not free from one example (pi): build what can be built.
    make -k -j"$(nproc)" >>"$log" 2>&1 || echo "starpu-build: some examples or tests do not build; see $log"
    [ -e src/.libs/libstarpu-1.4.so ] || fail "StarPU itself did not build; see $log"
    make -k install >>"$log" 2>&1 || true
else
    make -j"$(nproc)" >>"$log" 2>&1 || fail "make failed; see $log"
    make install >>"$log" 2>&1 || fail "make install failed; see $log"
    cd / && rm -rf "$prefix/build"
fi
[ -f "$prefix/lib/pkgconfig/starpu-1.4.pc" ] || fail "StarPU was not installed; see $log"
echo "starpu-build: installed in $prefix"
echo "  PKG_CONFIG_PATH=$prefix/lib/pkgconfig"
