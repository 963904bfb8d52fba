package message

import (
	"bytes"
	"slices"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
)

// Label is what puts labels into the metadata of a message, beside those that it has there: of
// the message that a request sends, of the params of any other request, or of a bare message.
// ok is false for a request that says nothing.
func Label(v rawjson.Value, labels []string) (change rawjson.Replacement, ok bool) {
	at := v
	if isEnveloped(v) {
		if at = v.Get("params").Get("message"); at.Kind() != rawjson.Object {
			at = v.Get("params")
		}
	}
	if at.Kind() != rawjson.Object {
		return change, false
	}
	metadata := at.Get("metadata")
	has := metadata.Get(act.LabelsKey)
	all := content.AppendLabels(nil, has)
	for _, l := range labels {
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	list := rawjson.AppendStrings(nil, all)
	switch {
	case has.Exists():
		return rawjson.Replacement{At: has, With: list}, true
	case metadata.Kind() == rawjson.Object:
		return rawjson.Replacement{At: metadata, With: withMember(metadata.Raw(), act.LabelsKey, list)}, true
	}
	made := withMember([]byte("{}"), act.LabelsKey, list)
	if metadata.Exists() { // and is none
		return rawjson.Replacement{At: metadata, With: made}, true
	}
	return rawjson.Replacement{At: at, With: withMember(at.Raw(), "metadata", made)}, true
}

// withMember is an object with one more member.
func withMember(object []byte, name string, value []byte) []byte {
	body := bytes.TrimRight(object[:len(object)-1], " \t\r\n")
	with := append(make([]byte, 0, len(body)+len(name)+len(value)+5), body...)
	if body[len(body)-1] != '{' {
		with = append(with, ',')
	}
	with = append(rawjson.AppendString(with, name), ':')
	return append(append(with, value...), '}')
}
