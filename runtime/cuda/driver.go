package cuda

import "ptc/internal/foreign"

// library is the driver's, as its installation names it.
const library = "libcuda.so.1"

// functions are the driver's functions, in the versions that cuda.h of CUDA 12.4 selects. The optional ones came with
// CUDA 12.4 and 12.0.
type functions struct {
	Init, DriverGetVersion, GetErrorName, GetErrorString          foreign.Function
	DeviceGetCount, DeviceGet, DeviceGetName, DeviceGetAttribute  foreign.Function
	DeviceGetUuid, DeviceTotalMem, DevicePrimaryCtxRelease        foreign.Function `version:"_v2"`
	DevicePrimaryCtxRetain, CtxSetCurrent                         foreign.Function
	MemGetInfo, MemAlloc, MemFree                                 foreign.Function `version:"_v2"`
	MemHostAlloc, MemFreeHost, MemsetD8Async                      foreign.Function
	MemcpyHtoDAsync, MemcpyDtoHAsync, Memcpy3DAsync               foreign.Function `version:"_v2"`
	StreamCreate, StreamSynchronize, StreamQuery, StreamWaitEvent foreign.Function
	StreamDestroy, EventDestroy, StreamBeginCapture               foreign.Function `version:"_v2"`
	StreamEndCapture                                              foreign.Function
	EventCreate, EventRecord, EventQuery, EventElapsedTime        foreign.Function
	ModuleLoadDataEx, ModuleUnload, ModuleGetFunction             foreign.Function
	FuncSetAttribute, LaunchKernel                                foreign.Function
	FuncGetParamInfo, TensorMapEncodeTiled                        foreign.Function `optional:""`
	GraphAddKernelNode                                            foreign.Function `version:"_v2"`
	GraphAddMemcpyNode, GraphAddEmptyNode, GraphAddChildGraphNode foreign.Function
	GraphCreate, GraphDestroy, GraphGetNodes                      foreign.Function
	GraphInstantiateWithFlags, GraphExecDestroy, GraphLaunch      foreign.Function
}

func (f *functions) all() []*foreign.Function { return foreign.Functions(f, "cu") }

// driver is the driver of this machine, initialized.
type driver struct {
	functions
	version int // of CUDA: 1000·major + 10·minor
	gpus    []gpu
}

// gpu is one of the machine's.
type gpu struct {
	device       int32 // the driver's handle
	name         string
	major, minor int // of its compute capability
	memory       int64
	shared       int64 // memory that a block may have
}
