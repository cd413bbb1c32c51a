package fakelib

import "syscall"

// Thread is the number of the thread that runs.
func Thread() int { return syscall.Gettid() }
