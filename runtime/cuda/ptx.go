package cuda

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// header is what the engine has to know of a module's text: the driver checks the rest.
type header struct {
	version, target string            // of the language, "8.3"; what it is for, "sm_90a"
	params          map[string]params // of each entry
}

// params are what an entry takes: addresses, and behind them tensor maps.
type params struct{ addresses, maps int }

// mapParam is how a tensor map is declared, but for its name.
const mapParam = ".param .align 64 .b8 "

// readHeader looks through the text of a module. Text in which an entry takes anything but
// addresses and tensor maps is an error, as the driver reads as many bytes of arguments as the entry takes.
func readHeader(text []byte) (*header, error) {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return nil, fmt.Errorf("byte %d of its text is zero", i)
	}
	h := &header{params: map[string]params{}}
	rest := string(text)
	for line := range strings.Lines(rest) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == ".version" && h.version == "" {
			h.version = strings.TrimSpace(value)
		}
		if word == ".target" && h.target == "" {
			h.target = strings.TrimSpace(value)
		}
		if h.version != "" && h.target != "" {
			break
		}
	}
	if h.version == "" || h.target == "" {
		return nil, fmt.Errorf("its text says no version, or not what GPU it is for")
	}
	for {
		_, after, ok := strings.Cut(rest, ".entry")
		if !ok {
			return h, nil
		}
		name, after, ok := strings.Cut(after, "(")
		list, after, ok2 := strings.Cut(after, ")")
		name, rest = strings.TrimSpace(name), after
		if !ok || !ok2 {
			return nil, fmt.Errorf("its text ends within the entry %s", clip(name))
		}
		if _, twice := h.params[name]; twice {
			return nil, fmt.Errorf("it has two entries %s", clip(name))
		}
		n, err := readParams(list)
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", clip(name), err)
		}
		h.params[name] = n
	}
}

// readParams counts the parameters of a list that must have nothing else.
func readParams(list string) (n params, err error) {
	if strings.TrimSpace(list) == "" {
		return n, nil
	}
	for p := range strings.SplitSeq(list, ",") {
		f := strings.Fields(p)
		name, found := strings.CutPrefix(strings.TrimSpace(p), mapParam)
		switch {
		case found && len(f) == 5 && strings.HasSuffix(name, "[128]"):
			n.maps++
		case len(f) == 3 && f[0] == ".param" && f[1] == ".u64" && n.maps == 0:
			n.addresses++
		default:
			return n, fmt.Errorf("found the parameter `%s`; expected an address, .param .u64", clip(strings.TrimSpace(p)))
		}
	}
	return n, nil
}

// clip is text for an error, of which a plan may have any amount.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// languages says since which version of CUDA drivers know a version of PTX: the table of release
// notes of "PTX ISA" 9.0. Those before are known to all that have graphs as we need them, of later
// ones the driver says it.
var languages = map[string]int{
	"8.0": 12000, "8.1": 12010, "8.2": 12020, "8.3": 12030, "8.4": 12040, "8.5": 12050,
	"8.6": 12070, "8.7": 12080, "8.8": 12090, "9.0": 13000,
}

// known says why a driver does not know the language of a module.
func (h *header) known(version int) error {
	if need := languages[h.version]; need > version {
		return fmt.Errorf("the driver of the GPU is too old: the plan has PTX %s, which drivers of CUDA %d.%d and later know, and this one is of %d.%d; install a newer driver",
			h.version, need/1000, need%1000/10, version/1000, version%1000/10)
	}
	return nil
}

// arch is what code is for: "sm_80" runs on what is 8.0 or later, "sm_90a" on 9.0 alone, "sm_100f"
// on what is 10.0 or later up to 11 ("PTX ISA", .target).
type arch struct {
	major, minor int
	suffix       string // "a", "f" or none
}

func readArch(target string) (arch, error) {
	target, _, _ = strings.Cut(target, ",")
	digits, ok := strings.CutPrefix(strings.TrimSpace(target), "sm_")
	a := arch{}
	for _, s := range []string{"a", "f"} {
		if d, has := strings.CutSuffix(digits, s); has {
			digits, a.suffix = d, s
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if !ok || err != nil || n < 10 {
		return a, fmt.Errorf("the plan is for %q, which is no kind of GPU", clip(target))
	}
	a.major, a.minor = int(n/10), int(n%10)
	return a, nil
}

func (a arch) runsOn(g gpu) bool {
	switch a.suffix {
	case "a":
		return g.major == a.major && g.minor == a.minor
	case "f":
		return g.major == a.major && g.minor >= a.minor
	}
	return g.major > a.major || g.major == a.major && g.minor >= a.minor
}

func (a arch) String() string {
	s := fmt.Sprintf("%d.%d", a.major, a.minor)
	switch a.suffix {
	case "a":
		return s + " alone"
	case "f":
		return s + " or later of " + strconv.Itoa(a.major)
	}
	return s + " or later"
}
