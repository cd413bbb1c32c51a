package foreign

import (
	"reflect"
	"sync"
)

// Lookup finds a function of a library by its symbol.
type Lookup func(symbol string) (uintptr, error)

// Load opens the first of the named libraries that the system's linker finds, and returns its name. The error is
// that of the first name. A library that is loaded again is the same one.
func Load(mode int, names ...string) (name string, find Lookup, err error) {
	if err := Available(); err != nil {
		return "", nil, err
	}
	for _, name := range names {
		lib, cause := Open(name, mode)
		if cause == nil {
			return name, func(symbol string) (uintptr, error) { return Symbol(lib, symbol) }, nil
		}
		if err == nil {
			err = cause
		}
	}
	return "", nil, err
}

// Function is a function of a library.
type Function struct {
	Name     string // in the library's documentation
	Symbol   string
	Optional bool
	At       uintptr // 0: the library has none
}

// Functions are the fields of type Function of the structure that table points to. A function's name is the prefix and
// the name of the field. Its symbol also has the suffix in the field's tag `version`. The tag `optional` marks functions
// that a usable library may lack.
func Functions(table any, prefix string) (all []*Function) {
	v := reflect.ValueOf(table).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Type == reflect.TypeFor[Function]() {
			f := v.Field(i).Addr().Interface().(*Function)
			_, f.Optional = field.Tag.Lookup("optional")
			f.Name = prefix + field.Name
			f.Symbol = f.Name + field.Tag.Get("version")
			all = append(all, f)
		}
	}
	return all
}

// Find looks up the addresses of functions, and returns the first symbol that the library should have and lacks.
func Find(all []*Function, find Lookup) (missing string) {
	for _, f := range all {
		at, err := find(f.Symbol)
		if (err != nil || at == 0) && !f.Optional {
			return f.Symbol
		}
		f.At = at
	}
	return ""
}

// Text copies a C string, up to a length that no message has.
func Text(at uintptr) string {
	const most = 1 << 20
	var text []byte
	for at != 0 && len(text) < most {
		c := *(*byte)(Pointer(at + uintptr(len(text))))
		if c == 0 {
			break
		}
		text = append(text, c)
	}
	return string(text)
}

// Shared is a library of type T, which the process opens once, when it needs it. The zero value is ready.
type Shared[T any] struct {
	mu      sync.Mutex
	find    Lookup // nil: the machine's
	library *T
}

// Use replaces the machine's library, for what is opened later. Nil ends that. It is for tests.
func (s *Shared[T]) Use(find Lookup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find, s.library = find, nil
}

// Get returns the library. The first call binds it: find is what Use has set, and nil stands for the machine's library.
// An error is not kept, because the next call may succeed.
func (s *Shared[T]) Get(bind func(find Lookup) (*T, error)) (*T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.library == nil {
		l, err := bind(s.find)
		if err != nil {
			return nil, err
		}
		s.library = l
	}
	return s.library, nil
}
