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
	name string
	at   *uintptr
}

// optional are functions without which older drivers are served, too: they came with CUDA 12.4 and 12.0.
var optional = []string{"cuFuncGetParamInfo", "cuTensorMapEncodeTiled"}

// symbols are the functions by the names that cuda.h of CUDA 12.4 gives their versions.
func (f *functions) symbols() []symbol {
	return []symbol{
		{"cuInit", &f.init}, {"cuDriverGetVersion", &f.driverGetVersion}, {"cuGetErrorName", &f.getErrorName},
		{"cuGetErrorString", &f.getErrorString}, {"cuDeviceGetCount", &f.deviceGetCount}, {"cuDeviceGet", &f.deviceGet},
		{"cuDeviceGetName", &f.deviceGetName}, {"cuDeviceGetAttribute", &f.deviceGetAttribute},
		{"cuDeviceGetUuid_v2", &f.deviceGetUUID}, {"cuDeviceTotalMem_v2", &f.deviceTotalMem},
		{"cuDevicePrimaryCtxRetain", &f.primaryRetain}, {"cuDevicePrimaryCtxRelease_v2", &f.primaryRelease},
		{"cuCtxSetCurrent", &f.ctxSetCurrent}, {"cuMemGetInfo_v2", &f.memGetInfo}, {"cuMemAlloc_v2", &f.memAlloc},
		{"cuMemFree_v2", &f.memFree}, {"cuMemHostAlloc", &f.memHostAlloc}, {"cuMemFreeHost", &f.memFreeHost},
		{"cuMemcpyHtoDAsync_v2", &f.memcpyHtoDAsync}, {"cuMemcpyDtoHAsync_v2", &f.memcpyDtoHAsync},
		{"cuMemcpy3DAsync_v2", &f.memcpy3DAsync}, {"cuStreamCreate", &f.streamCreate},
		{"cuStreamSynchronize", &f.streamSynchronize}, {"cuStreamDestroy_v2", &f.streamDestroy},
		{"cuStreamQuery", &f.streamQuery}, {"cuStreamWaitEvent", &f.streamWaitEvent}, {"cuMemsetD8Async", &f.memset},
		{"cuEventCreate", &f.eventCreate}, {"cuEventRecord", &f.eventRecord}, {"cuEventQuery", &f.eventQuery},
		{"cuEventElapsedTime", &f.eventElapsedTime}, {"cuEventDestroy_v2", &f.eventDestroy},
		{"cuModuleLoadDataEx", &f.moduleLoadDataEx}, {"cuModuleUnload", &f.moduleUnload},
		{"cuModuleGetFunction", &f.moduleGetFunction}, {"cuFuncSetAttribute", &f.funcSetAttribute},
		{"cuFuncGetParamInfo", &f.funcGetParamInfo}, {"cuLaunchKernel", &f.launchKernel}, {"cuGraphCreate", &f.graphCreate},
		{"cuGraphDestroy", &f.graphDestroy}, {"cuGraphAddKernelNode_v2", &f.graphAddKernel},
		{"cuGraphAddMemcpyNode", &f.graphAddMemcpy}, {"cuGraphAddEmptyNode", &f.graphAddEmpty},
		{"cuGraphInstantiateWithFlags", &f.graphInstantiate}, {"cuGraphExecDestroy", &f.graphExecDestroy},
		{"cuGraphLaunch", &f.graphLaunch}, {"cuTensorMapEncodeTiled", &f.tensorMapEncodeTiled},
		{"cuStreamBeginCapture_v2", &f.streamBeginCapture}, {"cuStreamEndCapture", &f.streamEndCapture},
		{"cuGraphAddChildGraphNode", &f.graphAddChild}, {"cuGraphGetNodes", &f.graphGetNodes},
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
