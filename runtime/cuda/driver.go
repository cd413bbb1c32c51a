package cuda

// library is the driver's, as its installation names it.
const library = "libcuda.so.1"

// Lookup finds a function of the driver by the name of its symbol.
type Lookup func(name string) (uintptr, error)

// functions are addresses of the driver's functions.
type functions struct {
	init, driverGetVersion, getErrorName, getErrorString                     uintptr
	deviceGetCount, deviceGet, deviceGetName, deviceGetAttribute             uintptr
	deviceTotalMem                                                           uintptr
	primaryRetain, primaryRelease, ctxSetCurrent, memGetInfo                 uintptr
	memAlloc, memFree, memHostAlloc, memFreeHost                             uintptr
	memcpyHtoDAsync, memcpyDtoHAsync, memcpy3DAsync                          uintptr
	streamCreate, streamSynchronize, streamDestroy                           uintptr
	deviceGetUUID                                                            uintptr
	streamQuery, streamWaitEvent, memset                                     uintptr
	eventCreate, eventRecord, eventQuery, eventElapsedTime, eventDestroy     uintptr
	moduleLoadDataEx, moduleUnload, moduleGetFunction                        uintptr
	funcSetAttribute, funcGetParamInfo, launchKernel                         uintptr
	graphCreate, graphDestroy, graphAddKernel, graphAddMemcpy, graphAddEmpty uintptr
	graphInstantiate, graphExecDestroy, graphLaunch                          uintptr
	tensorMapEncodeTiled                                                     uintptr
	streamBeginCapture, streamEndCapture, graphAddChild, graphGetNodes       uintptr
}

// symbol is a function and where its address goes.
type symbol struct {
	name     string
	at       *uintptr
	optional bool // drivers older than it are served, too
}

// symbols are the functions by the names that cuda.h of CUDA 12.4 gives their versions.
func (f *functions) symbols() []symbol {
	return []symbol{
		{name: "cuInit", at: &f.init},
		{name: "cuDriverGetVersion", at: &f.driverGetVersion},
		{name: "cuGetErrorName", at: &f.getErrorName},
		{name: "cuGetErrorString", at: &f.getErrorString},
		{name: "cuDeviceGetCount", at: &f.deviceGetCount},
		{name: "cuDeviceGet", at: &f.deviceGet},
		{name: "cuDeviceGetName", at: &f.deviceGetName},
		{name: "cuDeviceGetAttribute", at: &f.deviceGetAttribute},
		{name: "cuDeviceGetUuid_v2", at: &f.deviceGetUUID},
		{name: "cuDeviceTotalMem_v2", at: &f.deviceTotalMem},
		{name: "cuDevicePrimaryCtxRetain", at: &f.primaryRetain},
		{name: "cuDevicePrimaryCtxRelease_v2", at: &f.primaryRelease},
		{name: "cuCtxSetCurrent", at: &f.ctxSetCurrent},
		{name: "cuMemGetInfo_v2", at: &f.memGetInfo},
		{name: "cuMemAlloc_v2", at: &f.memAlloc},
		{name: "cuMemFree_v2", at: &f.memFree},
		{name: "cuMemHostAlloc", at: &f.memHostAlloc},
		{name: "cuMemFreeHost", at: &f.memFreeHost},
		{name: "cuMemcpyHtoDAsync_v2", at: &f.memcpyHtoDAsync},
		{name: "cuMemcpyDtoHAsync_v2", at: &f.memcpyDtoHAsync},
		{name: "cuMemcpy3DAsync_v2", at: &f.memcpy3DAsync},
		{name: "cuStreamCreate", at: &f.streamCreate},
		{name: "cuStreamSynchronize", at: &f.streamSynchronize},
		{name: "cuStreamDestroy_v2", at: &f.streamDestroy},
		{name: "cuStreamQuery", at: &f.streamQuery},
		{name: "cuStreamWaitEvent", at: &f.streamWaitEvent},
		{name: "cuMemsetD8Async", at: &f.memset},
		{name: "cuEventCreate", at: &f.eventCreate},
		{name: "cuEventRecord", at: &f.eventRecord},
		{name: "cuEventQuery", at: &f.eventQuery},
		{name: "cuEventElapsedTime", at: &f.eventElapsedTime},
		{name: "cuEventDestroy_v2", at: &f.eventDestroy},
		{name: "cuModuleLoadDataEx", at: &f.moduleLoadDataEx},
		{name: "cuModuleUnload", at: &f.moduleUnload},
		{name: "cuModuleGetFunction", at: &f.moduleGetFunction},
		{name: "cuFuncSetAttribute", at: &f.funcSetAttribute},
		{name: "cuFuncGetParamInfo", at: &f.funcGetParamInfo, optional: true}, // from CUDA 12.4 on
		{name: "cuLaunchKernel", at: &f.launchKernel},
		{name: "cuGraphCreate", at: &f.graphCreate},
		{name: "cuGraphDestroy", at: &f.graphDestroy},
		{name: "cuGraphAddKernelNode_v2", at: &f.graphAddKernel},
		{name: "cuGraphAddMemcpyNode", at: &f.graphAddMemcpy},
		{name: "cuGraphAddEmptyNode", at: &f.graphAddEmpty},
		{name: "cuGraphInstantiateWithFlags", at: &f.graphInstantiate},
		{name: "cuGraphExecDestroy", at: &f.graphExecDestroy},
		{name: "cuGraphLaunch", at: &f.graphLaunch},
		{name: "cuTensorMapEncodeTiled", at: &f.tensorMapEncodeTiled, optional: true}, // from CUDA 12.0 on
		{name: "cuStreamBeginCapture_v2", at: &f.streamBeginCapture},
		{name: "cuStreamEndCapture", at: &f.streamEndCapture},
		{name: "cuGraphAddChildGraphNode", at: &f.graphAddChild},
		{name: "cuGraphGetNodes", at: &f.graphGetNodes},
	}
}

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
