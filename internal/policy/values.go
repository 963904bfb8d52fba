package policy

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/rawjson"
)

// A reading is how whoever carries an act out may read its arguments. The zero
// reading takes them as they stand.
type reading struct {
	visible bool // without invisible characters, in names and in texts
	folded  bool // a name is found under every other one that folds to it
	// spellings are the names that the condition holds which is being evaluated.
	spellings []spellings
	// differs says that the act has a name which was asked for in another spelling,
	// so that a folded reading may see what this one does not.
	differs bool
}

// spellings are the texts of a condition, or of a list, by what they fold to.
type spellings map[string][]string

func (s spellings) add(name string) {
	if form := canon.FoldMember(name); !slices.Contains(s[form], name) {
		s[form] = append(s[form], name)
	}
}

// of are the names by which the condition could mean one that folds to form.
func (r *reading) of(form string) (names []string) {
	for _, s := range r.spellings {
		names = append(names, s[form]...)
	}
	return names
}

// jsonAdapter shows JSON values to CEL, converting each only when it is read.
type jsonAdapter struct {
	reading *reading // nil for the zero one
}

func (j jsonAdapter) NativeToValue(v any) ref.Val {
	if value, ok := v.(rawjson.Value); ok {
		return j.fromJSON(value)
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

func (j jsonAdapter) text(s string) string {
	if j.reading != nil && j.reading.visible {
		return canon.Visible(s)
	}
	return s
}

func (j jsonAdapter) fromJSON(v rawjson.Value) ref.Val {
	switch v.Kind() {
	case rawjson.Null:
		return types.NullValue
	case rawjson.Bool:
		return types.Bool(v.Bool())
	case rawjson.Number:
		return fromNumber(string(v.Raw()))
	case rawjson.String:
		return types.String(j.text(v.Text()))
	case rawjson.Array:
		items := make([]rawjson.Value, 0, v.Len())
		for _, e := range v.Elems() {
			items = append(items, e)
		}
		return types.NewDynamicList(j, items)
	case rawjson.Object:
		o := &object{reading: j.reading, members: make([]jsonMember, 0, v.Len())}
		for name, m := range v.Members() {
			o.members = append(o.members, jsonMember{j.text(name), m})
		}
		return o
	}
	return types.NewErr("no value")
}

// fromNumber converts a number so that comparisons with it stay right: whole
// numbers are exact up to 2^64, beyond that and with a fraction or an exponent
// they are doubles, and what a double cannot hold is infinite, so that
// args.amount > 1000 holds for 1e400.
func fromNumber(s string) ref.Val {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return types.Int(i)
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return types.Uint(u)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return types.NewErr("not a number")
	}
	return types.Double(f)
}

// fromRaw converts one argument's bytes. Numbers and texts without escapes,
// which most arguments are, need no parse.
func (j jsonAdapter) fromRaw(raw []byte) ref.Val {
	n := len(raw)
	switch {
	case n == 0:
	case n >= 2 && raw[0] == '"' && raw[n-1] == '"' && bytes.IndexByte(raw, '\\') < 0 && bytes.IndexByte(raw[1:], '"') == n-2:
		return types.String(j.text(string(raw[1 : n-1])))
	case n <= 18 && isDigits(raw):
		i, _ := strconv.ParseInt(string(raw), 10, 64)
		return types.Int(i)
	}
	doc, err := rawjson.Parse(raw)
	if err != nil {
		return types.NewErr("the argument is not valid JSON")
	}
	return j.fromJSON(doc.Root())
}

func isDigits(raw []byte) bool {
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// object is an object of JSON, and the variable args: a call's arguments by name.
// Each value is converted once, when it is first read.
type object struct {
	reading *reading
	// What it holds is one of these.
	args    []act.Argument
	members []jsonMember
	vals    []ref.Val
	// index is where the names stand that fold to a name, once there are many.
	index map[string][]int
}

type jsonMember struct {
	name  string // as it is read
	value rawjson.Value
}

func (o *object) reset(args []act.Argument) {
	o.args, o.index = args, nil
	clear(o.vals)
	o.vals = o.vals[:0]
}

func (o *object) len() int { return len(o.args) + len(o.members) }

// name is a name as it is read.
func (o *object) name(i int) string {
	if o.members != nil {
		return o.members[i].name
	}
	return jsonAdapter{o.reading}.text(o.args[i].Name)
}

func (o *object) value(i int) ref.Val {
	if len(o.vals) == 0 {
		o.vals = slices.Grow(o.vals, o.len())[:o.len()]
		clear(o.vals)
	}
	if o.vals[i] == nil {
		if j := (jsonAdapter{o.reading}); o.members != nil {
			o.vals[i] = j.fromJSON(o.members[i].value)
		} else {
			o.vals[i] = j.fromRaw(o.args[i].Value)
		}
	}
	return o.vals[i]
}

// few is up to how many names are looked through one by one.
const few = 16

// alike calls yield with the places of the names that fold as name does.
func (o *object) alike(name string, yield func(i int)) {
	if o.len() <= few {
		for i := range o.len() {
			if is := o.name(i); is == name || canon.SameMember(is, name) {
				yield(i)
			}
		}
		return
	}
	if o.index == nil {
		o.index = make(map[string][]int, o.len())
		for i := range o.len() {
			form := canon.FoldMember(o.name(i))
			o.index[form] = append(o.index[form], i)
		}
	}
	for _, i := range o.index[canon.FoldMember(name)] {
		yield(i)
	}
}

// places calls yield with where a name stands, as the reading takes names.
func (o *object) places(name string, yield func(i int)) {
	o.alike(name, func(i int) {
		if o.reading.folded || o.name(i) == name {
			yield(i)
		} else {
			o.reading.differs = true
		}
	})
}

func (o *object) find(name string) (ref.Val, bool) {
	at, times := 0, 0
	o.places(name, func(i int) { at, times = i, times+1 })
	switch times {
	case 0:
		return nil, false
	case 1:
		return o.value(at), true
	}
	// The tool may take either of the two; a rule that read the harmless one would
	// be fooled, so reading it fails.
	return types.NewErr("the argument is given twice"), true
}

// names are those by which a condition that goes through them all meets each: in a
// folded reading, as the condition itself spells them.
func (o *object) names() []string {
	names := make([]string, 0, o.len())
	seen := map[string]bool{}
	for i := range o.len() {
		name := o.name(i)
		if o.reading.spellings == nil && !o.reading.folded {
			names = append(names, name)
			continue
		}
		form := canon.FoldMember(name)
		spellings := o.reading.of(form)
		switch {
		case !o.reading.folded:
			o.reading.differs = o.reading.differs || slices.ContainsFunc(spellings, func(s string) bool { return s != name })
			names = append(names, name)
		case seen[form]:
		case len(spellings) > 0:
			names = append(names, spellings...)
		default:
			names = append(names, name)
		}
		seen[form] = true
	}
	return names
}

// FindStringKey is what CEL's interpreter calls for args.name.
func (o *object) FindStringKey(name string) (any, bool) {
	v, ok := o.find(name)
	return v, ok
}

func (o *object) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	return o.find(string(name))
}

func (o *object) Get(key ref.Val) ref.Val {
	v, ok := o.Find(key)
	if !ok {
		return types.ValOrErr(v, "no such key")
	}
	return v
}

func (o *object) Contains(key ref.Val) ref.Val {
	v, ok := o.Find(key)
	if !ok && v != nil {
		return v
	}
	return types.Bool(ok)
}

func (o *object) Size() ref.Val {
	forms := make(map[string]bool, o.len())
	for i := range o.len() {
		forms[canon.FoldMember(o.name(i))] = true
	}
	if o.reading.folded {
		return types.Int(len(forms))
	}
	o.reading.differs = o.reading.differs || len(forms) < o.len()
	return types.Int(o.len())
}

func (o *object) Iterator() traits.Iterator {
	return types.NewStringList(jsonAdapter{}, o.names()).Iterator()
}

func (o *object) Equal(other ref.Val) ref.Val {
	m, ok := other.(traits.Mapper)
	if !ok {
		return types.False
	}
	if m.Size() != o.Size() {
		return types.False
	}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		v, ok := o.Find(key)
		if !ok {
			return types.False
		}
		if types.IsError(v) {
			return v
		}
		if types.Equal(v, m.Get(key)) != types.True {
			return types.False
		}
	}
	return types.True
}

func (o *object) Type() ref.Type { return types.MapType }

func (o *object) Value() any { return o }

func (o *object) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return o
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("an object cannot be converted to %s", t.TypeName())
}

func (o *object) ConvertToNative(reflect.Type) (any, error) {
	return nil, errNotNative
}

var errNotNative = errors.New("an object has no native form")

var _ traits.Mapper = (*object)(nil)

// maxResult bounds the JSON that a replacement's expression may make.
const maxResult = 1 << 20

// appendValue appends a CEL value as JSON, its texts passed through mask. ok is
// false for what JSON cannot say, and for what is too large or too deep.
func appendValue(dst []byte, v ref.Val, mask func(string) string, depth int) (out []byte, ok bool) {
	if depth > 32 || len(dst) > maxResult {
		return dst, false
	}
	switch v := v.(type) {
	case types.String:
		return rawjson.AppendString(dst, mask(string(v))), true
	case types.Bool:
		return strconv.AppendBool(dst, bool(v)), true
	case types.Int:
		return strconv.AppendInt(dst, int64(v), 10), true
	case types.Uint:
		return strconv.AppendUint(dst, uint64(v), 10), true
	case types.Double:
		if math.IsInf(float64(v), 0) || math.IsNaN(float64(v)) {
			return dst, false
		}
		return strconv.AppendFloat(dst, float64(v), 'g', -1, 64), true
	case types.Null:
		return append(dst, "null"...), true
	case traits.Lister:
		dst = append(dst, '[')
		for i, it := 0, v.Iterator(); it.HasNext() == types.True; i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, ok = appendValue(dst, it.Next(), mask, depth+1); !ok {
				return dst, false
			}
		}
		return append(dst, ']'), true
	case traits.Mapper:
		var names []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			name, isText := it.Next().(types.String)
			if !isText {
				return dst, false
			}
			names = append(names, string(name))
		}
		slices.Sort(names)
		dst = append(dst, '{')
		for i, name := range names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(rawjson.AppendString(dst, name), ':')
			if dst, ok = appendValue(dst, v.Get(types.String(name)), mask, depth+1); !ok {
				return dst, false
			}
		}
		return append(dst, '}'), true
	}
	return dst, false
}
