package fakecuda

import (
	"sync"

	"ptc/runtime/cuda/fakelib"
)

// function is one of the driver's.
type function struct {
	name  string
	args  int
	frees bool // it does so even where it fails
	bare  bool // it needs no context
	waits bool // for the GPU, perhaps: not while the thread captures a stream for itself
	run   func(d *Driver, g *gpu, a []uintptr) int
}

func functions() []function {
	return []function{
		{name: "cuInit", args: 1, bare: true, run: start},
		{name: "cuDriverGetVersion", args: 1, bare: true, run: version},
		{name: "cuGetErrorName", args: 2, bare: true, run: errorName},
		{name: "cuGetErrorString", args: 2, bare: true, run: errorText},
		{name: "cuDeviceGetCount", args: 1, bare: true, run: deviceCount},
		{name: "cuDeviceGet", args: 2, bare: true, run: deviceGet},
		{name: "cuDeviceGetName", args: 3, bare: true, run: of(2, deviceName)},
		{name: "cuDeviceGetAttribute", args: 3, bare: true, run: of(2, deviceAttribute)},
		{name: "cuDeviceGetUuid_v2", args: 2, bare: true, run: of(1, deviceUUID)},
		{name: "cuDeviceTotalMem_v2", args: 2, bare: true, run: of(1, totalMem)},
		{name: "cuDevicePrimaryCtxRetain", args: 2, bare: true, run: of(1, retain)},
		{name: "cuDevicePrimaryCtxRelease_v2", args: 1, bare: true, frees: true, run: of(0, release)},
		{name: "cuCtxSetCurrent", args: 1, bare: true, run: setCurrent},
		{name: "cuMemGetInfo_v2", args: 2, run: memInfo},
		{name: "cuMemAlloc_v2", waits: true, args: 2, run: memAlloc},
		{name: "cuMemFree_v2", waits: true, args: 1, frees: true, run: memFree},
		{name: "cuMemHostAlloc", waits: true, args: 3, run: hostAlloc},
		{name: "cuMemFreeHost", waits: true, args: 1, frees: true, run: hostFree},
		{name: "cuMemcpyHtoDAsync_v2", args: 4, run: with("stream", 3, copyToDevice)},
		{name: "cuMemcpyDtoHAsync_v2", args: 4, run: with("stream", 3, copyToHost)},
		{name: "cuMemcpy3DAsync_v2", args: 2, run: with("stream", 1, copyAsync)},
		{name: "cuStreamCreate", args: 2, run: streamCreate},
		{name: "cuStreamSynchronize", args: 1, run: with("stream", 0, streamSynchronize)},
		{name: "cuStreamDestroy_v2", args: 1, frees: true, run: with("stream", 0, streamDestroy)},
		{name: "cuStreamQuery", args: 1, run: with("stream", 0, streamQuery)},
		{name: "cuStreamWaitEvent", args: 3, run: streamWaitEvent},
		{name: "cuEventCreate", args: 2, run: eventCreate},
		{name: "cuEventRecord", args: 2, run: eventRecord},
		{name: "cuEventQuery", waits: true, args: 1, run: with("event", 0, eventQuery)},
		{name: "cuEventDestroy_v2", args: 1, frees: true, run: eventDestroy},
		{name: "cuMemsetD8Async", args: 4, run: with("stream", 3, memset)},
		{name: "cuEventElapsedTime", args: 3, run: eventElapsed},
		{name: "cuModuleLoadDataEx", waits: true, args: 5, run: moduleLoad},
		{name: "cuModuleUnload", waits: true, args: 1, frees: true, run: with("module", 0, moduleUnload)},
		{name: "cuModuleGetFunction", args: 3, run: with("module", 1, moduleFunction)},
		{name: "cuFuncSetAttribute", args: 3, run: setAttribute},
		{name: "cuFuncGetParamInfo", args: 4, run: paramInfo},
		{name: "cuLaunchKernel", args: 11, run: with("stream", 8, launchKernel)},
		{name: "cuGraphCreate", args: 2, run: graphCreate},
		{name: "cuGraphDestroy", args: 1, frees: true, run: with("graph", 0, graphDestroy)},
		{name: "cuGraphAddKernelNode_v2", args: 5, run: addKernel},
		{name: "cuGraphAddMemcpyNode", args: 6, run: addCopy},
		{name: "cuGraphAddEmptyNode", args: 4, run: addEmpty},
		{name: "cuGraphGetNodes", args: 3, run: with("graph", 0, graphNodes)},
		{name: "cuGraphInstantiateWithFlags", args: 3, run: with("graph", 1, instantiate)},
		{name: "cuGraphExecDestroy", args: 1, frees: true, run: with("executable graph", 0, execDestroy)},
		{name: "cuGraphLaunch", args: 2, run: graphLaunch},
		{name: "cuTensorMapEncodeTiled", args: 12, run: encodeTiled},
		{name: "cuStreamBeginCapture_v2", args: 2, run: with("stream", 0, beginCapture)},
		{name: "cuStreamEndCapture", args: 2, frees: true, run: with("stream", 0, endCapture)},
		{name: "cuGraphAddChildGraphNode", args: 5, run: with("graph", 4, addChild)},
	}
}

// with gives a function the object whose handle is argument number n.
func with[T any](what string, n int, run func(d *Driver, g *gpu, o T, a []uintptr) int) func(*Driver, *gpu, []uintptr) int {
	return func(d *Driver, g *gpu, a []uintptr) int {
		if o, ok := get[T](d, what, a[n]); ok {
			return run(d, g, o, a)
		}
		return InvalidHandle
	}
}

// of gives a function the GPU whose number is argument number n, in the place of the thread's.
func of(n int, run func(d *Driver, g *gpu, a []uintptr) int) func(*Driver, *gpu, []uintptr) int {
	return func(d *Driver, _ *gpu, a []uintptr) int {
		if g := d.of(a[n]); g != nil {
			return run(d, g, a)
		}
		return InvalidDevice
	}
}

// addresses makes the C functions, once: a process has a limited number of them.
var addresses = sync.OnceValue(func() map[string]uintptr {
	out := map[string]uintptr{}
	for _, f := range functions() {
		out[f.name] = fakelib.Callback(f.args, f.enter)
	}
	return out
})

// enter is a call of the current driver.
func (f *function) enter(args ...uintptr) uintptr {
	d := current.Load()
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.changed.Broadcast()
	return uintptr(f.call(d, args))
}

func (f *function) call(d *Driver, args []uintptr) int {
	if f.name == "cuGetErrorName" || f.name == "cuGetErrorString" {
		return f.run(d, nil, args)
	}
	failed := d.count(f)
	if !d.started && f.name != "cuInit" {
		d.Problem("%s before cuInit", f.name)
		return NotInitialized
	}
	g := d.threads[fakelib.Thread()]
	if !f.bare && g == nil {
		d.Problem("%s on a thread without a context", f.name)
		return InvalidContext
	}
	if f.waits && d.captures[fakelib.Thread()] != nil {
		d.Problem("%s while the thread captures a stream", f.name)
		return NotInCapture
	}
	if failed >= IllegalAddress && failed != Unknown && g != nil {
		g.sticky = failed
	}
	if failed == Success && g != nil && !f.bare {
		failed = g.sticky
	}
	if failed != Success && !f.frees {
		return failed
	}
	if r := f.run(d, g, args); failed == Success {
		return r
	}
	return failed
}
