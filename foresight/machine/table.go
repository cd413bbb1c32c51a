package machine

import (
	"slices"
	"strings"

	"ptc/internal/dtype"
	"ptc/lang/syntax"
)

// Entry is a row of the table of entries: one thing that a section of a machine may hold.
type Entry struct {
	Section string // device, host or level; empty for the machine itself
	Key     string // one word, or two: `share memory`
	Of      string // what kind of word follows the key: "dtype", "protocol", or empty
	Unit    string // of the number: "FLOP/s"; empty for none
	Help    string // a sentence, for editors and docs/machine.md

	needed bool
	lo, hi float64 // bounds in SI units, both included

	// at is where the value goes: *Sourced, *map[string]Sourced, *int, *string or *bool.
	at func(m *Machine, l *Level) any
}

// The kinds of words that follow a key.
const (
	ofDType    = "dtype"
	ofProtocol = "protocol"
)

// Bounds that reject a slip of units, such as GB for TB/s, more than they reject a machine.
const (
	kilo = 1e3
	mega = 1e6
	giga = 1e9
	tera = 1e12
	peta = 1e15
	exa  = 1e18
	hour = 3600
	year = 365 * 24 * hour

	maxRanks = 1 << 24 // of a cluster, as of a mesh
)

var table = []Entry{
	{Key: "title", Help: "The name for people.", needed: true,
		at: func(m *Machine, _ *Level) any { return &m.Title }},
	{Key: "power", Unit: "W", Help: "Power of one device with its share of the host, switches and fans.", lo: 1, hi: mega,
		at: func(m *Machine, _ *Level) any { return &m.Power }},
	{Key: "price", Unit: "USD/h", Help: "Price of one device with its share of everything around it.", lo: 0, hi: 1000.0 / hour,
		at: func(m *Machine, _ *Level) any { return &m.Price }},
	{Key: "mtbf", Unit: "h", Help: "Mean time between failures that stop a job, for one device with its share of everything around it.", lo: hour, hi: 1000 * year,
		at: func(m *Machine, _ *Level) any { return &m.MTBF }},

	{Section: "device", Key: "target", Help: "The target that ptc compiles for, if it has one: `cuda:sm_90a`.",
		at: func(m *Machine, _ *Level) any { return &m.Device.Target }},
	{Section: "device", Key: "processors", Help: "Units that compute one tile at a time: streaming multiprocessors, cores.", needed: true, lo: 1, hi: 1 << 20,
		at: func(m *Machine, _ *Level) any { return &m.Device.Processors }},
	{Section: "device", Key: "peak", Of: ofDType, Unit: "FLOP/s", Help: "Rate of products whose operands have this dtype, by the data sheet, without sparsity.", needed: true, lo: mega, hi: 1000 * exa,
		at: func(m *Machine, _ *Level) any { return &m.Device.Peak }},
	{Section: "device", Key: "share", Of: ofDType, Help: "The part of the peak that the best product reaches.", needed: true, lo: 0.001, hi: 1,
		at: func(m *Machine, _ *Level) any { return &m.Device.Share }},
	{Section: "device", Key: "vector", Of: ofDType, Unit: "FLOP/s", Help: "Rate of arithmetic that is not a product. `vector f32` must be there.", needed: true, lo: mega, hi: 1000 * exa,
		at: func(m *Machine, _ *Level) any { return &m.Device.Vector }},
	{Section: "device", Key: "memory", Unit: "B", Help: "Memory of one device.", needed: true, lo: mega, hi: peta,
		at: func(m *Machine, _ *Level) any { return &m.Device.Memory }},
	{Section: "device", Key: "reserve", Unit: "B", Help: "The part of the memory that no program can have: driver, context, libraries.", needed: true, lo: 0, hi: peta,
		at: func(m *Machine, _ *Level) any { return &m.Device.Reserve }},
	{Section: "device", Key: "bandwidth", Unit: "B/s", Help: "Bandwidth of the memory, by the data sheet.", needed: true, lo: mega, hi: exa,
		at: func(m *Machine, _ *Level) any { return &m.Device.Bandwidth }},
	{Section: "device", Key: "share memory", Help: "The part of the bandwidth that the best kernel reaches.", needed: true, lo: 0.001, hi: 1,
		at: func(m *Machine, _ *Level) any { return &m.Device.MemoryShare }},
	{Section: "device", Key: "cache", Unit: "B", Help: "Size of the last level of caches.", lo: kilo, hi: tera,
		at: func(m *Machine, _ *Level) any { return &m.Device.Cache }},
	{Section: "device", Key: "bandwidth cache", Unit: "B/s", Help: "Bandwidth of the last level of caches.", lo: mega, hi: exa,
		at: func(m *Machine, _ *Level) any { return &m.Device.CacheRate }},
	{Section: "device", Key: "attention", Of: ofDType, Help: "The part of the rate of the best product that attention of this dtype reaches. Without it, 0.75.", lo: 0.001, hi: 1,
		at: func(m *Machine, _ *Level) any { return &m.Device.Attention }},
	{Section: "device", Key: "serial", Help: "`true` if a kernel's products, its other arithmetic and its memory accesses follow one another; otherwise the longest of them counts.",
		at: func(m *Machine, _ *Level) any { return &m.Device.Serial }},
	{Section: "device", Key: "launch", Unit: "s", Help: "Time from the start of one kernel to the start of the next, at least.", needed: true, lo: 0, hi: 1,
		at: func(m *Machine, _ *Level) any { return &m.Device.Launch }},
	{Section: "device", Key: "start", Of: ofProtocol, Unit: "s", Help: "Time of a collective that moves nothing, with this protocol.", lo: 0, hi: 1,
		at: func(m *Machine, _ *Level) any { return &m.Device.Start }},
	{Section: "device", Key: "occupies", Help: "Processors that a collective keeps busy while it runs; 0 if the links work alone.", lo: 0, hi: 1 << 20,
		at: func(m *Machine, _ *Level) any { return &m.Device.Occupies }},

	{Section: "host", Key: "devices", Help: "Devices that share one host.", needed: true, lo: 1, hi: 1 << 16,
		at: func(m *Machine, _ *Level) any { return &m.Host.Devices }},
	{Section: "host", Key: "shared", Help: "`true` if the devices of a host divide the described device among themselves: its processors, its memory and all its rates.",
		at: func(m *Machine, _ *Level) any { return &m.Host.Shared }},
	{Section: "host", Key: "launch", Unit: "s", Help: "Time of the host's processor to start one kernel.", needed: true, lo: 0, hi: 1,
		at: func(m *Machine, _ *Level) any { return &m.Host.Launch }},
	{Section: "host", Key: "link", Unit: "B/s", Help: "Bandwidth between the host and one device, in each direction.", needed: true, lo: mega, hi: peta,
		at: func(m *Machine, _ *Level) any { return &m.Host.Link }},
	{Section: "host", Key: "share link", Help: "The part of this bandwidth that a large copy reaches.", needed: true, lo: 0.001, hi: 1,
		at: func(m *Machine, _ *Level) any { return &m.Host.LinkShare }},
	{Section: "host", Key: "memory", Unit: "B", Help: "Memory of one host, for all of its devices.", needed: true, lo: mega, hi: exa,
		at: func(m *Machine, _ *Level) any { return &m.Host.Memory }},
	{Section: "host", Key: "disk", Unit: "B/s", Help: "Bandwidth at which one host writes to storage.", lo: kilo, hi: peta,
		at: func(m *Machine, _ *Level) any { return &m.Host.Disk }},

	{Section: "level", Key: "ranks", Help: "Units of the level below in one unit of this one. Without it, the level is open: the command says how many.", lo: 1, hi: maxRanks,
		at: func(_ *Machine, l *Level) any { return &l.Ranks }},
	{Section: "level", Key: "most", Help: "The largest size of an open level.", lo: 1, hi: maxRanks,
		at: func(_ *Machine, l *Level) any { return &l.Most }},
	{Section: "level", Key: "link", Unit: "B/s", Help: "Bandwidth of one device over this level, in each direction.", needed: true, lo: kilo, hi: peta,
		at: func(_ *Machine, l *Level) any { return &l.Link }},
	{Section: "level", Key: "share", Of: ofProtocol, Help: "The part of the link that the best collective reaches with this protocol.", needed: true, lo: 0.001, hi: 1,
		at: func(_ *Machine, l *Level) any { return &l.Share }},
	{Section: "level", Key: "latency", Of: ofProtocol, Unit: "s", Help: "Time of one step from a device to the next with this protocol.", needed: true, lo: 0, hi: 1,
		at: func(_ *Machine, l *Level) any { return &l.Latency }},
	{Section: "level", Key: "oversubscription", Help: "How many times the links of the devices exceed what leaves their unit; 1 if nothing is shared.", needed: true, lo: 1, hi: 1000,
		at: func(_ *Machine, l *Level) any { return &l.Oversubscription }},
	{Section: "level", Key: "reduces", Help: "`true` if the switches of this level add up what they receive.",
		at: func(_ *Machine, l *Level) any { return &l.Reduces }},
	{Section: "level", Key: "shared memory", Help: "`true` if devices exchange through memory that all of them share; then `link` counts what one processor reads and writes.",
		at: func(_ *Machine, l *Level) any { return &l.Memory }},
}

// quantity is what a unit of the table stands for.
type quantity struct {
	of, per syntax.Dimension
	what    string   // in words, with an example
	units   []string // that an editor offers
}

// quantities are those of the units of the table.
var quantities = map[string]quantity{
	"":       {what: "a number without a unit"},
	"B":      {syntax.Bytes, "", "a number of bytes, such as `80 GiB`", []string{"GiB", "MiB", "KiB", "TiB", "GB", "TB"}},
	"B/s":    {syntax.Bytes, syntax.Time, "bytes per second, such as `450 GB/s`", []string{"GB/s", "TB/s", "MB/s"}},
	"FLOP/s": {syntax.Work, syntax.Time, "operations per second, such as `989.5 TFLOP/s`", []string{"TFLOP/s", "GFLOP/s", "PFLOP/s"}},
	"s":      {syntax.Time, "", "a time, such as `2.5 us`", []string{"us", "ns", "ms", "s"}},
	"h":      {syntax.Time, "", "a time, such as `50000 h`", []string{"h", "d"}},
	"W":      {syntax.Power, "", "a power, such as `700 W`", []string{"W", "kW"}},
	"USD/h":  {syntax.Money, syntax.Time, "a price, such as `2.5 USD/h`", []string{"USD/h"}},
}

// Kind is what the value of an entry is.
type Kind uint8

// The kinds of values.
const (
	Number Kind = iota
	Text
	Flag
)

// Kind is what the entry's value is.
func (e Entry) Kind() Kind {
	switch e.at(&Machine{}, &Level{}).(type) {
	case *string:
		return Text
	case *bool:
		return Flag
	}
	return Number
}

// What is the entry's value in words.
func (e Entry) What() string {
	switch e.Kind() {
	case Text:
		return "a text in quotes"
	case Flag:
		return "`true` or `false`"
	}
	return quantities[e.Unit].what
}

// Units are those that are usual for the entry.
func (e Entry) Units() []string { return quantities[e.Unit].units }

// Sections are the words of sections with what each is about, in the order of a file.
func Sections() []Section {
	return []Section{
		{"device", "What one device can do: products, arithmetic, memory, launches, collectives."},
		{"host", "The computer around devices: their link to it, its memory, its disk."},
		{"level", "Links that join devices, or units of the level before, into a larger unit. The innermost level is the first."},
		{"kernels", "Measured times of kernels, by the key that a plan has for each."},
	}
}

// Section is a word that begins a section, and what the section is about.
type Section struct{ Word, Help string }

// Entries are the entries of a section, in the order of the documentation; those of the machine itself for "".
func Entries(section string) []Entry {
	return slices.DeleteFunc(slices.Clone(table), func(e Entry) bool { return e.Section != section })
}

// Needed reports whether a section without the entry is incomplete.
func (e Entry) Needed() bool { return e.needed }

// Words are the words that may follow the key of an entry, or nil if any or none may.
func (e Entry) Words() []string {
	if e.Of == ofDType {
		return dtypes
	}
	return nil
}

// dtypes are those that products have.
var dtypes = func() []string {
	return dtype.Names(slices.DeleteFunc(dtype.Tensors(), func(d dtype.DType) bool { return !d.IsFloat() }))
}()

// Find is the row of an entry with these words; nil if there is none.
func Find(section, key, of string) *Entry {
	var found *Entry
	for i := range table {
		e := &table[i]
		switch {
		case e.Section != section:
		case e.Key == strings.TrimSpace(key+" "+of):
			return e
		case e.Key == key && e.Of != "" && of != "":
			found = e
		}
	}
	return found
}
