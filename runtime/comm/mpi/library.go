package mpi

import (
	"unsafe"

	"ptc/internal/foreign"
	"ptc/runtime/comm"
)

// Install is what a user does when Open MPI is missing.
const Install = "apt-get install openmpi-bin"

// names of the library, for Open MPI 4 and 5, whose interface is the same.
var names = []string{"libmpi.so.40", "libmpi.so"}

// library is the functions and objects of Open MPI that are used.
type library struct {
	initThread, finalize, abort, rank, size    uintptr
	setErrhandler, errorString                 uintptr
	isend, irecv, testall, requestStatus       uintptr
	world, byteType, errorsReturn, nullRequest uintptr
	path                                       string
}

// Constants of mpi.h of Open MPI.
const (
	threadSerialized = 2
	maxErrorString   = 256
	success          = 0
	errTruncate      = 15
	errPending       = 19
)

// status is MPI_Status of Open MPI.
type status struct {
	source, tag, err, cancelled int32
	count                       uintptr
}

// Available says why the library cannot be loaded, or gives its name.
func Available() (name string, err error) {
	l, err := load()
	if err != nil {
		return "", err
	}
	return l.path, nil
}

func load() (*library, error) {
	if err := foreign.Available(); err != nil {
		return nil, comm.LaunchError(err, "Open MPI does not load")
	}
	// Global: the library's own plugins look for its symbols.
	path, find, err := foreign.Load(foreign.Now|foreign.Global, names...)
	if err != nil {
		return nil, comm.LaunchError(err, "Open MPI (%s) does not load; install it with: %s", names[0], Install)
	}
	l := &library{path: path}
	for _, s := range []struct {
		name string
		at   *uintptr
	}{
		{"MPI_Init_thread", &l.initThread}, {"MPI_Finalize", &l.finalize}, {"MPI_Abort", &l.abort},
		{"MPI_Comm_rank", &l.rank}, {"MPI_Comm_size", &l.size},
		{"MPI_Comm_set_errhandler", &l.setErrhandler}, {"MPI_Error_string", &l.errorString},
		{"MPI_Isend", &l.isend}, {"MPI_Irecv", &l.irecv}, {"MPI_Testall", &l.testall},
		{"MPI_Request_get_status", &l.requestStatus},
		{"ompi_mpi_comm_world", &l.world}, {"ompi_mpi_byte", &l.byteType},
		{"ompi_mpi_errors_return", &l.errorsReturn}, {"ompi_request_null", &l.nullRequest},
	} {
		if *s.at, err = find(s.name); err != nil {
			return nil, comm.LaunchError(err, "%s is not Open MPI, but ptc needs Open MPI; install it with: %s", path, Install)
		}
	}
	return l, nil
}

// caller makes calls of the library. It must be on the heap: the library writes to
// it, and a stack moves. The list of arguments is kept because a call moves one
// of its own to the heap at every call.
type caller struct {
	*library
	args [8]uintptr
	flag int32
	out  [3]int32
	stat status
	text [maxErrorString]byte
}

// call calls a function with the first n of args.
func (c *caller) call(fn uintptr, n int) int32 {
	r := foreign.Call(fn, c.args[:n]...)
	return int32(r)
}

func (c *caller) start(fn uintptr, buf []byte, peer, tag int, req *uintptr) int32 {
	c.args = [8]uintptr{uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), c.byteType,
		uintptr(peer), uintptr(tag), c.world, uintptr(unsafe.Pointer(req))}
	return c.call(fn, 7)
}

// test says whether all requests are complete, and if so makes them null. Requests
// and statuses must be on the heap.
func (c *caller) test(reqs []uintptr, stats []status) (bool, int32) {
	if len(reqs) == 0 {
		return true, success
	}
	c.args = [8]uintptr{uintptr(len(reqs)), uintptr(unsafe.Pointer(&reqs[0])),
		uintptr(unsafe.Pointer(&c.flag)), uintptr(unsafe.Pointer(&stats[0]))}
	rc := c.call(c.testall, 4)
	return c.flag != 0, rc
}

// complete says whether a request is complete, and leaves it as it is.
func (c *caller) complete(req uintptr) bool {
	c.args = [8]uintptr{req, uintptr(unsafe.Pointer(&c.flag)), uintptr(unsafe.Pointer(&c.stat))}
	code := c.call(c.requestStatus, 3)
	return code == success && c.flag != 0
}

// describe is the library's text for an error code.
func (c *caller) describe(code int32) string {
	c.args = [8]uintptr{uintptr(code), uintptr(unsafe.Pointer(&c.text[0])), uintptr(unsafe.Pointer(&c.out[0]))}
	c.call(c.errorString, 3)
	return string(c.text[:max(0, min(int(c.out[0]), len(c.text)))])
}
