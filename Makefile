# SPDX-License-Identifier: BSD-2-Clause
# The build is meson's; these are short names for what one does every day.

.PHONY: all packages run test ledger clean

all: packages
	@scripts/build release

# Installs what packages.txt lists and the machine lacks; else returns at once.
packages:
	@scripts/packages

run: all
	@scripts/demo

test: packages
	@scripts/test

ledger: packages
	@scripts/test ledger --show

clean:
	rm -rf build build-*
