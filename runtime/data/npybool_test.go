package data

import (
	"encoding/binary"
	"testing"
)

// TestNPYBool: an array of bool is read as the elements of arrays are, and its size is checked.
func TestNPYBool(t *testing.T) {
	header := "{'descr': '|b1', 'fortran_order': False, 'shape': (3, 2), }\n"
	head := append(binary.LittleEndian.AppendUint16([]byte(npyMagic+"\x01\x00"), uint16(len(header))), header...)
	a, err := readNPY(head, int64(len(head))+6)
	if err != nil || a.dtype != "bool" || len(a.shape) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := readNPY(head, int64(len(head))+5); err == nil {
		t.Error("an array that is cut short is read")
	}
}
