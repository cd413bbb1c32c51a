package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ptc/passes/memory/place"
)

// problem is one file.
type problem struct {
	name     string
	capacity int64
	buffers  []place.Buffer
}

func read(file string) (*problem, error) {
	parts := strings.Split(filepath.Base(file), ".")
	if len(parts) < 3 {
		return nil, fmt.Errorf("the file's name has no capacity; want NAME.CAPACITY.csv")
	}
	p := &problem{name: strings.Join(parts[:len(parts)-2], ".")}
	var err error
	if p.capacity, err = strconv.ParseInt(parts[len(parts)-2], 10, 64); err != nil || p.capacity <= 0 {
		return nil, fmt.Errorf("the capacity %q in the file's name is no positive number", parts[len(parts)-2])
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p.buffers, err = parse(f)
	return p, err
}

// parse reads the lines of a problem.
func parse(r io.Reader) ([]place.Buffer, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("it is empty; want a line with the columns' names")
	}
	var at [3]int
	for i, name := range []string{"lower", "upper", "size"} {
		if at[i] = slices.Index(rows[0], name); at[i] < 0 {
			return nil, fmt.Errorf("the first line has no column %q", name)
		}
	}
	var out []place.Buffer
	for n, row := range rows[1:] {
		var v [3]int
		for i, column := range at {
			if v[i], err = strconv.Atoi(row[column]); err != nil || v[i] < 0 {
				return nil, fmt.Errorf("line %d: %s is %q; want a number that is not negative", n+2, rows[0][column], row[column])
			}
		}
		if v[0] >= v[1] {
			return nil, fmt.Errorf("line %d: a buffer in use from %d to before %d", n+2, v[0], v[1])
		}
		out = append(out, place.Buffer{Lo: v[0], Hi: v[1], Size: int64(v[2])})
	}
	return out, nil
}
