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

	"reeve/act"
	"reeve/internal/canon"
	"reeve/internal/rawjson"
)

// jsonAdapter shows JSON values to CEL, converting each only when it is read.
type jsonAdapter struct {
	visible bool // texts are shown without their invisible characters
}

func (j jsonAdapter) NativeToValue(v any) ref.Val {
	if value, ok := v.(rawjson.Value); ok {
		return j.fromJSON(value)
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

func (j jsonAdapter) text(s string) string {
	if j.visible {
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
		members := make(map[string]rawjson.Value, v.Len())
		for name, m := range v.Members() {
			members[j.text(name)] = m
		}
		return types.NewDynamicMap(j, members)
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

// arguments is the variable args: a call's arguments by name. Each value is
// converted once, when it is first read.
type arguments struct {
	args []act.Argument
	vals []ref.Val
	// visible: names and texts are read without their invisible characters.
	visible bool
}

func (a *arguments) reset(args []act.Argument) {
	a.args = args
	clear(a.vals)
	a.vals = a.vals[:0]
}

// name is the name of an argument, as it is read.
func (a *arguments) name(i int) string { return jsonAdapter{a.visible}.text(a.args[i].Name) }

func (a *arguments) find(name string) (ref.Val, bool) {
	at := -1
	for i := range a.args {
		if a.name(i) != name {
			continue
		}
		if at >= 0 {
			// The tool may take either of the two; a rule that read the
			// harmless one would be fooled, so reading it fails.
			return types.NewErr("the argument is given twice"), true
		}
		at = i
	}
	if at < 0 {
		return nil, false
	}
	if len(a.vals) == 0 {
		a.vals = slices.Grow(a.vals, len(a.args))[:len(a.args)]
		clear(a.vals)
	}
	if a.vals[at] == nil {
		a.vals[at] = jsonAdapter{a.visible}.fromRaw(a.args[at].Value)
	}
	return a.vals[at], true
}

// FindStringKey is what CEL's interpreter calls for args.name.
func (a *arguments) FindStringKey(name string) (any, bool) {
	v, ok := a.find(name)
	return v, ok
}

func (a *arguments) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	return a.find(string(name))
}

func (a *arguments) Get(key ref.Val) ref.Val {
	v, ok := a.Find(key)
	if !ok {
		return types.ValOrErr(v, "no such key")
	}
	return v
}

func (a *arguments) Contains(key ref.Val) ref.Val {
	v, ok := a.Find(key)
	if !ok && v != nil {
		return v
	}
	return types.Bool(ok)
}

func (a *arguments) Size() ref.Val { return types.Int(len(a.args)) }

func (a *arguments) Iterator() traits.Iterator {
	names := make([]string, len(a.args))
	for i := range a.args {
		names[i] = a.name(i)
	}
	return types.NewStringList(jsonAdapter{}, names).Iterator()
}

func (a *arguments) Equal(other ref.Val) ref.Val {
	m, ok := other.(traits.Mapper)
	if !ok || m.Size() != a.Size() {
		return types.False
	}
	for i := range a.args {
		v, _ := a.find(a.name(i))
		if types.IsError(v) {
			return v
		}
		w, ok := m.Find(types.String(a.name(i)))
		if !ok || types.Equal(v, w) != types.True {
			return types.False
		}
	}
	return types.True
}

func (a *arguments) Type() ref.Type { return types.MapType }

func (a *arguments) Value() any { return a }

func (a *arguments) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return a
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("args cannot be converted to %s", t.TypeName())
}

func (a *arguments) ConvertToNative(reflect.Type) (any, error) {
	return nil, errNotNative
}

var errNotNative = errors.New("args has no native form")

var _ traits.Mapper = (*arguments)(nil)

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
