// Package gpu tries plans for GPUs of NVIDIA: on one, or under the driver for tests, which launches
// kernels under the emulator.
//
// In come the examples, and with `-real` a GPU. Each kernel is compared with the reference
// evaluator, training with that on the reference, runs with themselves, and layouts of several devices
// on one GPU with one device. `make gpu-check` packs the test and what it needs for a machine that has a
// GPU and neither Go nor a network; run.sh, which goes with it, also measures.
package gpu
