package cuda

// worker is the engine's goroutine for programs in which the host takes part.
type worker struct {
	jobs  chan func() error
	ended chan error
	done  chan struct{}
}

func newWorker() *worker {
	w := &worker{jobs: make(chan func() error, 1), ended: make(chan error, 1), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for job := range w.jobs {
			w.ended <- job()
		}
	}()
	return w
}

func (w *worker) begin(job func() error) { w.jobs <- job }
func (w *worker) wait() error            { return <-w.ended }

// close ends the goroutine, after what it has to do.
func (w *worker) close() {
	if w != nil {
		close(w.jobs)
		<-w.done
	}
}
