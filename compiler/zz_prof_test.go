package compiler
import ("testing";"os";"path/filepath")
func TestZZProf(t *testing.T) {
	file := os.Getenv("ZF")
	src, _ := os.ReadFile(file)
	_, r, err := Compile(Options{File: file, Source: src, Layout: os.Getenv("ZL"), Target: "ref", Read: func(p string) ([]byte, error) { return os.ReadFile(filepath.Join(filepath.Dir(file), p)) }})
	if err != nil { t.Log(err) }
	for _, s := range r.Stages { if s.Took > 20e6 { t.Log(s.Name, s.Took) } }
}
