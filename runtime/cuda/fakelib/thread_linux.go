package fakecuda

import "syscall"

// thread is the number of the thread that runs.
func thread() int { return syscall.Gettid() }
