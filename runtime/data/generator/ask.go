package generator

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Version is that of the protocol.
const Version = 1

// maxAnswer bounds the line of an answer.
const maxAnswer = 1 << 20

// Variable is the variable of the environment in which a command has its Ask.
const Variable = "PTC_STREAM"

// Field is an array that is wanted of each batch: its rows have this shape.
type Field struct {
	Name  string `json:"name"`
	DType string `json:"dtype"` // i32 or f32
	Shape []int  `json:"shape"` // without the axis of the rows
}

// The parts of the examples.
const (
	Train = "train"
	Valid = "valid"
)

// Ask is what a run asks a program for.
type Ask struct {
	Version int     `json:"ptc_stream"`
	Fields  []Field `json:"fields"`
	Batch   int     `json:"batch"` // examples of a step; a program may give any number at once
	Seed    uint64  `json:"seed"`
	Split   string  `json:"split"`
	First   int64   `json:"first"` // number of the first example to give, from 0
	Count   int64   `json:"count"` // how many are wanted; 0: no end
}

// Answer is what a program says of itself. Without one it begins at example 0.
type Answer struct {
	Version   int      `json:"ptc_stream"`
	First     int64    `json:"first"`     // number of the first example that it gives
	Fields    []string `json:"fields"`    // the order of the arrays; empty: that of the ask
	ID        string   `json:"id"`        // which examples; those of equal ones are taken to be equal
	Examples  int64    `json:"examples"`  // in an epoch; 0: not known
	Split     string   `json:"split"`     // the part that it gives; empty: it knows of none
	Resumable *bool    `json:"resumable"` // false: other examples come each time
	Error     string   `json:"error"`     // why it gives nothing
}

// Fresh is whether other examples come each time.
func (a *Answer) Fresh() bool { return a.Resumable != nil && !*a.Resumable }

// line is an ask as it is sent.
func (a *Ask) line() []byte {
	text, _ := json.Marshal(a) // strings and numbers always have one
	return append(text, '\n')
}

// parseAnswer reads the line of an answer, and holds it to what was asked.
func parseAnswer(line []byte, asked *Ask) (*Answer, error) {
	a := new(Answer)
	if err := json.Unmarshal(line, a); err != nil {
		return nil, fmt.Errorf("its answer is not valid JSON: %w", err)
	}
	switch {
	case a.Error != "":
		return nil, errors.New(a.Error)
	case a.Version != Version:
		return nil, fmt.Errorf("its answer has \"ptc_stream\": %d, and this is version %d", a.Version, Version)
	case a.First < 0 || a.Examples < 0:
		return nil, fmt.Errorf("its answer has first %d and examples %d, but neither may be negative", a.First, a.Examples)
	case a.Split != "" && a.Split != asked.Split:
		return nil, fmt.Errorf("it sends the split %q instead of %q", a.Split, asked.Split)
	}
	return a, nil
}
