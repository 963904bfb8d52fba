package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"mime"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"
	"time"

	"reeve.example/reeve/internal/visible"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json/jsontext"
)

//go:embed templates static
var files embed.FS

// assets are the static files by their names, and what their addresses end with: another
// when the content is another, so that browsers may keep them.
var assets = func() map[string]asset {
	list := map[string]asset{}
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		text, err := fs.ReadFile(files, "static/"+entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(text)
		list[entry.Name()] = asset{text, hex.EncodeToString(sum[:6])}
	}
	return list
}()

type asset struct {
	text    []byte
	version string
}

func static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	one, ok := assets[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	if r.URL.RawQuery == one.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Write(one.text)
}

// pages are the templates, each with the layout around it.
func pages(now func() time.Time) map[string]*template.Template {
	layout := template.Must(template.New("layout").Funcs(template.FuncMap{
		"asset": func(name string) string { return home + "static/" + name + "?" + assets[name].version },
		"see":   see, "lines": lines, "json": readable, "time": stamp, "diff": diff, "marked": marked, "partViews": partViews,
		"folded": func(rows []foldView, since time.Time) any {
			return struct {
				Rows  []foldView
				Since time.Time
			}{rows, since}
		},
		"story": (*storyView).chips,
		"day":   func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"ago":   func(t time.Time) string { return ago(now().Sub(t)) },
		"left":  func(t time.Time) string { return short(t.Sub(now())) },
		"soon":  func(t time.Time) bool { return t.Sub(now()) < 2*time.Minute },
		"short": short, "size": size[int], "size64": size[int64], "plural": words.Count,
		"plural64": func(n uint64, one string) string { return words.Count(int(min(n, math.MaxInt)), one) }, "join": strings.Join,
		"times": times,
		"minus": func(a int, b float64) float64 { return float64(a) - b },
		"cut": func(s string, most int) string {
			if r := []rune(s); len(r) > most {
				return string(r[:most-1]) + "…"
			}
			return s
		}, "plain": visible.Line, "seg": url.PathEscape, "base": path.Base,
		"anchor":      func(file string) string { return strings.ReplaceAll(path.Base(file), " ", "-") },
		"definitions": func(before, after any) []line { return diff(indented(before), indented(after)) },
		"percent":     func(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) },
	}).ParseFS(files, "templates/layout.html", "templates/parts.html"))
	all := map[string]*template.Template{}
	entries, err := fs.ReadDir(files, "templates")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		all[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "templates/"+entry.Name()))
	}
	return all
}

// see is a text of others on one line: each character is seen, and what is written by its
// number stands out. Nothing of it is markup.
func see(v any) template.HTML { return numbered(visible.Line(text(v))) }

// lines is the same with its lines kept.
func lines(v any) template.HTML { return numbered(visible.Lines(text(v))) }

// text is a value that a template shows. Named string types come, too.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case jsontext.Value:
		return string(v)
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}

// numbered escapes what package visible wrote. A bracket in it is always its own.
func numbered(shown string) template.HTML {
	var b strings.Builder
	for shown != "" {
		before, rest, found := strings.Cut(shown, "⟨")
		b.WriteString(template.HTMLEscapeString(before))
		if !found {
			break
		}
		number, after, _ := strings.Cut(rest, "⟩")
		b.WriteString(`<span class="odd">⟨` + template.HTMLEscapeString(number) + `⟩</span>`)
		shown = after
	}
	return template.HTML(b.String())
}

// readable is JSON over several lines. An escape that hides a letter is written as the
// letter, and then as package visible shows it.
func readable(v any) template.HTML {
	raw := jsontext.Value(text(v)).Clone()
	if raw.Indent(jsontext.WithIndent("  "), jsontext.PreserveRawStrings(false)) != nil {
		return lines(text(v))
	}
	return lines(string(raw))
}

// indented is JSON over several lines; empty for none.
func indented(v any) string {
	raw := jsontext.Value(text(v)).Clone()
	if len(raw) == 0 || raw.Indent(jsontext.WithIndent("  "), jsontext.PreserveRawStrings(false)) != nil {
		return text(v)
	}
	return string(raw)
}

// times multiplies numbers of any kind.
func times(a, b any) float64 {
	return reflect.ValueOf(a).Convert(floats).Float() * reflect.ValueOf(b).Convert(floats).Float()
}

var floats = reflect.TypeFor[float64]()

// unquoted is the text that a JSON string stands for, and other JSON as it is.
func unquoted(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) == nil {
		return s
	}
	return raw
}

// stamp is a time for people, with what a script makes local of it.
func stamp(t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + t.UTC().Format("2006-01-02 15:04:05") + ` UTC</time>`)
}

// short is a length of time in its largest unit.
func short(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", max(0, d/time.Second))
}

func ago(d time.Duration) string {
	if d < time.Second {
		return "now"
	}
	return short(d) + " ago"
}

func size[N int | int64](n N) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return words.Count(int(n), "byte")
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// piece is a stretch of a text, with what was found in it.
type piece struct {
	Text  template.HTML
	Found string // codes; empty for a stretch in which nothing was found
}

// line is one line of a difference.
type line struct {
	Sign string // "+", "-" or a space
	Text template.HTML
}

// maxDiff is how many lines of two texts are compared; of longer ones both are shown whole.
const maxDiff = 2000

// diff is the difference of two texts by lines.
func diff(before, after string) (list []line) {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	if before == "" {
		a = nil
	}
	if after == "" {
		b = nil
	}
	show := func(sign, text string) { list = append(list, line{sign, see(text)}) }
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	for _, l := range a[:start] {
		show(" ", l)
	}
	x, y := a[start:len(a)-end], b[start:len(b)-end]
	if len(x)*len(y) > maxDiff*maxDiff {
		for _, l := range x {
			show("-", l)
		}
		for _, l := range y {
			show("+", l)
		}
	} else {
		// same[i][j] is how many lines x[i:] and y[j:] have in common, in their order.
		same := make([][]int32, len(x)+1)
		for i := range same {
			same[i] = make([]int32, len(y)+1)
		}
		for i := len(x) - 1; i >= 0; i-- {
			for j := len(y) - 1; j >= 0; j-- {
				if x[i] == y[j] {
					same[i][j] = same[i+1][j+1] + 1
				} else {
					same[i][j] = max(same[i+1][j], same[i][j+1])
				}
			}
		}
		for i, j := 0, 0; i < len(x) || j < len(y); {
			switch {
			case i < len(x) && j < len(y) && x[i] == y[j]:
				show(" ", x[i])
				i, j = i+1, j+1
			case i < len(x) && (j == len(y) || same[i+1][j] >= same[i][j+1]):
				show("-", x[i])
				i++
			default:
				show("+", y[j])
				j++
			}
		}
	}
	for _, l := range a[len(a)-end:] {
		show(" ", l)
	}
	return list
}
