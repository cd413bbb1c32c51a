// Package arm runs native code for arm64 where there is no such processor, under an
// emulator: `make arm-check`, by run.sh.
//
// In: tests of packages that make native code or run it, built for arm64, and this
// package's, which trains a small GPT. Out: their verdicts. The emulator (qemu-aarch64)
// has every feature that a target of arm64 requires; the libraries of arm64 that
// the tests load, libLLVM among them, come from the distribution.
// Invariant: none of the tests knows of it, but that one which starts itself again does so
// by PTC_TEST_EXEC; elsewhere than on arm64 this package has no test.
// Imports backend/cpu/llvm/target, compiler, runtime/native, runtime/train.
package arm
