package act

import (
	"context"
	"encoding/hex"
)

// Traceparent names the span of the caller that an act is part of, as W3C Trace Context
// writes it.
type Traceparent struct {
	Trace [16]byte
	Span  [8]byte
	Flags byte
}

// ParseTraceparent reads a traceparent. What is not in its form names no span: a caller's
// mistake there must not keep an act from being judged.
func ParseTraceparent(text string) (t Traceparent, ok bool) {
	// 00-<32 hex>-<16 hex>-<2 hex>; later versions may add more behind a further dash.
	if len(text) < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' || len(text) > 55 && (text[:2] == "00" || text[55] != '-') || len(text) > maxTraceparent {
		return t, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		into []byte
		text string
	}{{version[:], text[:2]}, {t.Trace[:], text[3:35]}, {t.Span[:], text[36:52]}, {flags[:], text[53:55]}} {
		for _, c := range []byte(part.text) {
			if c >= 'A' && c <= 'F' { // hex decodes them; the form has none
				return Traceparent{}, false
			}
		}
		if _, err := hex.Decode(part.into, []byte(part.text)); err != nil {
			return Traceparent{}, false
		}
	}
	if t.Flags = flags[0]; version[0] == 0xff || t.Trace == [16]byte{} || t.Span == [8]byte{} {
		return Traceparent{}, false
	}
	return t, true
}

const maxTraceparent = 256

// String writes it in the form of version 00.
func (t Traceparent) String() string {
	return "00-" + hex.EncodeToString(t.Trace[:]) + "-" + hex.EncodeToString(t.Span[:]) + "-" + hex.EncodeToString([]byte{t.Flags})
}

type traceparentKey struct{}

// WithTraceparent returns a context of a call that came with a traceparent. One that is
// not in its form is left out.
func WithTraceparent(ctx context.Context, text string) context.Context {
	if t, ok := ParseTraceparent(text); ok {
		return context.WithValue(ctx, traceparentKey{}, t.String())
	}
	return ctx
}

// TraceparentFrom returns the traceparent of a call; empty for none.
func TraceparentFrom(ctx context.Context) string {
	text, _ := ctx.Value(traceparentKey{}).(string)
	return text
}
