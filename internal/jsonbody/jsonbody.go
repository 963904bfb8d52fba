// Package jsonbody reads the bodies of requests that people and their programs write: strictly, and with faults said in
// words of JSON, since who asks has not written this program.
package jsonbody

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Read reads the body of a request into q. Members that q has not, null and trailing data are refused.
func Read(body []byte, q any) error {
	if jsontext.Value(strings.TrimSpace(string(body))).Kind() == 'n' {
		return errors.New("the body is null: send an object, {} for one without members")
	}
	return InWords(json.Unmarshal(body, q, json.RejectUnknownMembers(true)))
}

// InWords is a fault of a body, or of the reading of one, as it is said to who sent it; nil for none.
func InWords(err error) error {
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	at := func(p jsontext.Pointer) string {
		if p == "" {
			return "the body"
		}
		return fmt.Sprintf("%.200q", string(p))
	}
	large, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil:
		return nil
	case tooLarge:
		return fmt.Errorf("the body is larger than %d bytes", large.Limit)
	case errors.As(err, &syntax):
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return fmt.Errorf("%s is there twice", at(syntax.JSONPointer))
		}
		return fmt.Errorf("the body is no JSON, or not all of it: see byte %d", syntax.ByteOffset)
	case !errors.As(err, &semantic):
		return errors.New("the body cannot be read")
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("there is no member %.80q%s", semantic.JSONPointer.LastToken(), membersOf(semantic.GoType))
	case semantic.GoType == nil:
		return fmt.Errorf("%s is not of a form that is known here", at(semantic.JSONPointer))
	}
	return fmt.Errorf("%s is %s", at(semantic.JSONPointer), formOf(semantic.GoType))
}

// membersOf lists the members that there are.
func membersOf(t reflect.Type) string {
	if t == nil || t.Kind() != reflect.Struct {
		return ""
	}
	var names []string
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ": it has none"
	}
	return ": there are " + strings.Join(names, ", ")
}

// formOf says of which form a value has to be.
func formOf(t reflect.Type) string {
	if t == reflect.TypeFor[time.Time]() {
		return "a time such as 2027-01-31T12:00:00Z"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return formOf(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 { // bytes travel as a string
			return "a text"
		}
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "of another form"
}
