package native

import (
	"debug/elf"
	"os"
	"strings"
	"testing"
)

// TestFunctions: the code of a function is the bytes of its symbol, whatever machine it is for; damaged objects are
// errors.
func TestFunctions(t *testing.T) {
	for _, name := range []string{"testdata/probe.amd64.o", "testdata/probe.arm64.o"} {
		object, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, s := range symbols {
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF {
				continue
			}
			data, err := f.Sections[s.Section].Data()
			if err != nil {
				t.Fatal(err)
			}
			all, err := Functions(object, s.Name)
			if err != nil || len(all) == 0 || all[0].Name != s.Name || string(all[0].Code) != string(data[s.Value:s.Value+s.Size]) || all[0].Near[0] != s.Name {
				t.Errorf("%s: function %s: %v, %v", name, s.Name, all, err)
			}
			for _, r := range all[0].Refs {
				if r.To == "" || r.Offset < 0 || r.Offset >= int(s.Size) {
					t.Errorf("%s: function %s refers to %+v", name, s.Name, r)
				}
			}
			tried++
			if _, err := Functions(object, s.Name+"x"); err == nil || !strings.Contains(err.Error(), "no function "+s.Name+"x") {
				t.Errorf("%s: a function that there is not: %v", name, err)
			}
			for i := range object {
				was := object[i]
				for _, b := range []byte{0, 0xff, was ^ 0x80} {
					object[i] = b
					Functions(object, s.Name)
				}
				object[i] = was
			}
		}
		if tried == 0 {
			t.Errorf("%s has no functions", name)
		}
		f.Close()
	}
}
