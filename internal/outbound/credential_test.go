package outbound

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// TestCredentials: a credential goes to its origin, below its path, and to nobody who
// looks like it, is led to from elsewhere, or was not asked for.
func TestCredentials(t *testing.T) {
	var got []string // by each hop, what it was sent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+r.Header.Get("X-Key"))
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	defer server.Close()
	other := httptest.NewServer(server.Config.Handler)
	defer other.Close()
	port, otherPort := server.Listener.Addr().(*net.TCPAddr).AddrPort().Port(), other.Listener.Addr().(*net.TCPAddr).AddrPort().Port()
	host := func(name string, port uint16) string { return "http://" + net.JoinHostPort(name, itoa(port)) }
	api := host("api.example.com", port)
	read := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	dialer := &Dialer{AllowPrivate: true, Resolver: names(t, func(string) netip.Addr { return netip.MustParseAddr("127.0.0.1") })}
	const c, v, x = "Bearer c", "Bearer c1", "x"
	credentials := []Credential{
		{To: read(api), Header: "Authorization", Value: c}, {To: read(api + "/v1"), Header: "Authorization", Value: v},
		{To: read(host("x.example.com", port) + "/v1"), Header: "X-Key", Value: x},
	}
	for _, tt := range []struct {
		name, url, own string
		want           []string
	}{
		{"its origin", api, "", []string{c}},
		{"below its path", api + "/v1/things?a=1", "", []string{v}},
		{"its path", api + "/v1", "", []string{v}},
		{"beside its path", api + "/v10", "", []string{c}},
		{"in capitals", host("API.Example.COM", port), "", []string{c}},
		{"another header", host("x.example.com", port) + "/v1/", "", []string{x}},
		{"above the path", host("x.example.com", port) + "/v2", "", []string{""}},
		{"out of the path", host("x.example.com", port) + "/v1/../v2", "", []string{""}},
		{"out of the path, escaped", host("x.example.com", port) + "/v1/%2e%2e/v2", "", []string{""}},
		{"out of the path, twice", host("x.example.com", port) + "/v1/%252e%252e/v2", "", []string{""}},
		{"out of the path, backwards", host("x.example.com", port) + `/v1/..%5cv2`, "", []string{""}},
		{"out of the path, by a parameter", host("x.example.com", port) + "/v1/..;/v2", "", []string{""}},
		{"a dot at the end", host("api.example.com.", port), "", []string{""}},
		{"a longer name", host("api.example.com.evil.net", port), "", []string{""}},
		{"a prefix", host("evil-api.example.com", port), "", []string{""}},
		{"the parent", host("example.com", port), "", []string{""}},
		{"below it", host("a.api.example.com", port), "", []string{""}},
		{"another port", host("api.example.com", otherPort), "", []string{""}},
		{"the name as a user", "http://api.example.com@" + net.JoinHostPort("evil.net", itoa(port)), "", []string{"Basic YXBpLmV4YW1wbGUuY29tOg=="}},
		{"a user at it", "http://u@" + strings.TrimPrefix(api, "http://"), "", []string{"Basic dTo="}},
		{"the address of it", server.URL, "", []string{""}},
		{"its own header", api, "Bearer own", []string{"Bearer own"}},
		{"to itself", api + "/?to=" + url.QueryEscape(api+"/v1"), "", []string{c, v}},
		{"out of the path, by a redirect", host("x.example.com", port) + "/v1/?to=/v2", "", []string{x, ""}},
		{"away", api + "/?to=" + url.QueryEscape(host("evil.net", port)), "", []string{c, ""}},
		{"away to another port", api + "/?to=" + url.QueryEscape(other.URL), "", []string{c, ""}},
		{"away and back", api + "/?to=" + url.QueryEscape(host("evil.net", port)+"/?to="+url.QueryEscape(api)), "", []string{c, "", ""}},
		{"to it from elsewhere", host("evil.net", port) + "/?to=" + url.QueryEscape(api), "", []string{"", ""}},
	} {
		got = nil
		for _, how := range []string{"header", "options"} {
			to := read(tt.url)
			o := Options{Redirects: 5, For: to, Credentials: credentials}
			request, err := http.NewRequest("GET", tt.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.own != "" && how == "header" {
				request.Header.Set("Authorization", tt.own)
			} else if tt.own != "" {
				o.Header = http.Header{"Authorization": {tt.own}}
			}
			client := dialer.Client(o)
			got = nil
			response, err := client.Do(request)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
			client.CloseIdleConnections()
			if strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("%s: sent %q, want %q", tt.name, got, tt.want)
			}
			if tt.own == "" && request.Header.Get("Authorization") != "" {
				t.Errorf("%s: the caller's request was changed", tt.name)
			}
		}
	}
	// Whoever was asked for somebody else gets nothing, also if the client calls it.
	client := dialer.Client(Options{For: read(host("evil.net", port)), Credentials: credentials})
	defer client.CloseIdleConnections()
	got = nil
	response, err := client.Get(api)
	if err != nil || got[0] != "" {
		t.Errorf("sent %q without being asked for: %v", got, err)
	}
	response.Body.Close()
}

func itoa(port uint16) string {
	return netip.AddrPortFrom(netip.IPv4Unspecified(), port).String()[len("0.0.0.0:"):]
}
