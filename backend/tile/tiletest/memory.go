package tiletest

import (
	"fmt"

	"ptc/ir/tensor"
)

// Memory is the elements of a buffer, with who wrote and read each.
type Memory struct {
	Data  []float64
	cells []cell
}

// cell is what is known of an element.
type cell struct {
	written bool
	wrote   access // the last write
	time    int64  // of the last write
	read    access // a task that read since
	many    bool   // others of its phase read as well
	copies  int    // that may read it now
}

// access is a task of a phase; phases count from 1.
type access struct{ phase, task int64 }

// Blank is memory of n elements that nothing has written.
func Blank(n int64) *Memory { return &Memory{make([]float64, n), make([]cell, n)} }

// Holding is memory with the elements of t.
func Holding(t *tensor.Tensor) *Memory {
	m := Blank(int64(len(t.Data)))
	copy(m.Data, t.Data)
	for i := range m.cells {
		m.cells[i].written = true
	}
	return m
}

// read records that a task reads element i.
func (m *Memory) read(i int64, by access) error {
	c := &m.cells[i]
	if !c.written {
		return fmt.Errorf("element %d is read; nothing has written it", i)
	}
	if c.wrote.phase == by.phase && c.wrote.task != by.task {
		return fmt.Errorf("element %d is read by task %d and written by task %d of the same phase", i, by.task, c.wrote.task)
	}
	c.many = c.many && c.read.phase == by.phase || c.read.phase == by.phase && c.read.task != by.task
	if !c.many {
		c.read = by
	}
	return nil
}

// write records that a task writes element i at a time.
func (m *Memory) write(i int64, by access, time int64) error {
	c := &m.cells[i]
	switch {
	case c.wrote.phase == by.phase && c.wrote.task != by.task:
		return fmt.Errorf("element %d is written by tasks %d and %d of the same phase", i, by.task, c.wrote.task)
	case c.read.phase == by.phase && (c.many || c.read.task != by.task):
		return fmt.Errorf("element %d is written by task %d and read by another, as task %d, of the same phase", i, by.task, c.read.task)
	case c.copies > 0:
		return fmt.Errorf("element %d is written while a copy may read it; nothing waited for that yet", i)
	case c.written && c.wrote == by && c.time == time:
		return fmt.Errorf("element %d is where two elements of one tile are stored", i)
	}
	c.written, c.wrote, c.time = true, by, time
	return nil
}
