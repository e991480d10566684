# SPDX-License-Identifier: Apache-2.0
# Short names for what Meson does; "make help" lists them.
.PHONY: all test check demo asan tsan fuzz format install uninstall package clean help

all: build/build.ninja ## build into build/
	ninja -C build

build/build.ninja:
	meson setup build

test: all ## run the tests of the release build
	meson test -C build --print-errorlogs

check: ## everything CI runs
	./bootstrap check

demo: ## install, build, call variants of a made-up sample, draw demo/gantt.symphony.svg
	./bootstrap demo

asan tsan fuzz: ## one sanitizer or the fuzzers
	python3 tools/check.py $@

format: ## format the C files in place
	find $(wildcard src include tests fuzz bench examples workloads) -name '*.[ch]' \
		-exec clang-format -i {} +

install: all ## install (DESTDIR is honoured)
	meson install -C build

package: ## build the Debian packages and look at them with lintian
	tools/package-check.sh

uninstall: ## remove what "make install" installed last
	ninja -C build uninstall

clean: ## remove what was built
	rm -rf build build-asan build-tsan build-fuzz demo

help:
	@sed -n 's/^\([a-z ]*\):.*## /\1\t/p' Makefile
