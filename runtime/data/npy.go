package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// npyMagic begins a file of NumPy's format
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
const npyMagic = "\x93NUMPY"

// maxNPYHeader bounds the header, which the formats that we read fit into the
// first bytes of a file.
const maxNPYHeader = llmcHeader

// array is what the header of a .npy file says.
type array struct {
	dtype  string // as the language writes it
	shape  []int64
	offset int64 // of the first element
	big    bool  // the first byte of an element is its most significant one
	column bool  // Fortran's order: the first axis is the one whose elements lie together
}

// npyTypes are NumPy's names of types.
var npyTypes = map[string]string{
	"|b1": "bool", "|u1": "u8", "|i1": "i8", "<u2": "u16", "<i2": "i16", "<u4": "u32", "<i4": "i32",
	"<u8": "u64", "<i8": "i64", "<f2": "f16", "<f4": "f32", "<f8": "f64",
}

var (
	npyDescr = regexp.MustCompile(`'descr'\s*:\s*'([^']*)'`)
	npyOrder = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	npyShape = regexp.MustCompile(`'shape'\s*:\s*\(([0-9L, ]*)\)`)
)

// readNPY reads the header at the start of a file of that size, and checks that
// the elements are there.
func readNPY(head []byte, size int64) (a array, err error) {
	if len(head) < 10 || string(head[:6]) != npyMagic {
		return a, errors.New("this is no .npy file")
	}
	start, n := int64(10), int64(binary.LittleEndian.Uint16(head[8:]))
	if major := head[6]; major == 2 || major == 3 {
		if len(head) < 12 {
			return a, errors.New("the header is cut short")
		}
		start, n = 12, int64(binary.LittleEndian.Uint32(head[8:]))
	} else if major != 1 {
		return a, fmt.Errorf("version %d of the .npy format is not supported", major)
	}
	if a.offset = start + n; a.offset > int64(len(head)) {
		return a, fmt.Errorf("the header of %d bytes is truncated or longer than %d", n, maxNPYHeader)
	}
	text := head[start:a.offset]
	descr, order, shape := npyDescr.FindSubmatch(text), npyOrder.FindSubmatch(text), npyShape.FindSubmatch(text)
	switch {
	case descr == nil || order == nil || shape == nil:
		return a, errors.New("the header does not name descr, fortran_order and shape of one array of numbers")
	}
	var ok bool
	kind := string(descr[1])
	if little, big := strings.CutPrefix(kind, ">"); big {
		a.big, kind = true, "<"+little
	}
	if a.dtype, ok = npyTypes[kind]; !ok {
		return a, fmt.Errorf("elements of type %s are not read; cast them, as with a.astype(np.int32)", descr[1])
	}
	elements := int64(1)
	for _, word := range strings.Split(string(shape[1]), ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		d, err := strconv.ParseInt(word, 10, 64)
		if err != nil || d < 0 || d > 0 && elements > math.MaxInt64/16/d {
			return a, fmt.Errorf("the shape (%s) is none", shape[1])
		}
		elements *= d
		a.shape = append(a.shape, d)
	}
	if string(order[1]) == "True" {
		wide := 0 // axes of several elements
		for _, d := range a.shape {
			if d > 1 {
				wide++
			}
		}
		a.column = wide > 1
	}
	width := int64(npyWidth(a.dtype))
	if want := a.offset + elements*width; want > size {
		return a, fmt.Errorf("the array needs %d bytes, but the file has %d", want, size)
	}
	return a, nil
}

// npyWidth is the bytes of an element.
func npyWidth(dtype string) int {
	e, _ := findElement(dtype) // one of npyTypes
	return e.bytes
}
