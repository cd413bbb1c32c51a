package llvm

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"ptc/internal/foreign"
)

// EnvLLVM is the environment variable that names the libLLVM to load: a path,
// or `none` to do as if there were none.
const EnvLLVM = "PTC_LLVM"

// ErrNone is what Load's error wraps when PTC_LLVM is `none`.
var ErrNone = errors.New("no libLLVM: PTC_LLVM is `none`")

// ErrNotFound is what Load's error wraps when no usable libLLVM is installed.
var ErrNotFound = errors.New("no usable libLLVM (17 or later)")

// InstallLine is the command that installs what Load looks for first.
const InstallLine = "apt-get install libllvm19"

// minMajor is the first version whose pass names, opaque pointers and C
// functions are the ones used here.
const minMajor = 17

// sonames are tried in order: 19, the version the tests run with, then later
// ones, then earlier ones. Distributions name the same library in two ways.
var sonames = []string{
	"libLLVM.so.19.1", "libLLVM-19.so", "libLLVM-19.so.1",
	"libLLVM.so.20.1", "libLLVM-20.so", "libLLVM.so.21.1", "libLLVM-21.so",
	"libLLVM.so.18.1", "libLLVM-18.so", "libLLVM-18.so.1",
	"libLLVM-17.so", "libLLVM-17.so.1",
}

// Library is a loaded libLLVM. It is safe for concurrent use.
type Library struct {
	c                   api
	path                string
	major, minor, patch uint32
	diagnostics         sinks
	handler             uintptr // C function that forwards to diagnostics
	labels              labelled
	named               uintptr // C function that looks labels up
}

// Path is the name that the library was found under.
func (l *Library) Path() string { return l.path }

// Version is the library's version, as "19.1.7".
func (l *Library) Version() string { return fmt.Sprintf("%d.%d.%d", l.major, l.minor, l.patch) }

var load = sync.OnceValues(func() (*Library, error) { return open(os.Getenv(EnvLLVM)) })

// Load finds and opens libLLVM, once in a process. Its error says what was
// looked for and how to install it, and wraps ErrNone or ErrNotFound.
func Load() (*Library, error) { return load() }

// open loads the library that the environment asks for, or the first one found.
func open(choice string) (*Library, error) {
	if choice == "none" {
		return nil, fmt.Errorf("%w; unset it to compile for cpu and cuda targets", ErrNone)
	}
	if err := foreign.Available(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	names := sonames
	if choice != "" {
		names = []string{choice}
	}
	var tried []string
	for _, name := range names {
		l, err := openOne(name)
		if err == nil {
			return l, nil
		}
		if choice != "" || !errors.Is(err, errNoFile) {
			tried = append(tried, name+": "+err.Error())
		}
	}
	detail := "looked for " + names[0] + " and its like"
	if len(tried) > 0 {
		detail = strings.Join(tried, "; ")
	}
	return nil, fmt.Errorf("%w: %s. Install it with `%s`, or set %s to its path", ErrNotFound, detail, InstallLine, EnvLLVM)
}

// errNoFile tells a library that is not there, which is no news while the next
// name is tried, from one that is there and unfit.
var errNoFile = errors.New("not found")

func openOne(name string) (*Library, error) {
	h, err := foreign.Open(name, foreign.Now|foreign.Local)
	if err != nil {
		if strings.Contains(err.Error(), "No such file") {
			return nil, errNoFile
		}
		return nil, err
	}
	l := &Library{path: name}
	if err := l.c.bind(h); err != nil {
		return nil, err
	}
	l.c.GetVersion(&l.major, &l.minor, &l.patch)
	if l.major < minMajor {
		return nil, fmt.Errorf("is version %s, and %d is the first that fits", l.Version(), minMajor)
	}
	l.handler, l.named = foreign.Callback(l.diagnose), foreign.Callback(l.name)
	return l, l.c.initTargets(h)
}
