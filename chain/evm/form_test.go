package evm_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// inForm serves answers of a form, which has places for the ID and the result, in gzip.
func inForm(t *testing.T, form string) string {
	t.Helper()
	type call struct {
		ID     json.RawMessage   `json:"id"`
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say := func(c call) string {
			result, _ := json.Marshal(healthy(c.Method, c.Params))
			if c.Method == "eth_getTransactionCount" {
				result = []byte(`"0x7"`)
			}
			return strings.NewReplacer("ID", string(c.ID), "RESULT", string(result)).Replace(form)
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Encoding", "gzip")
		zipped := gzip.NewWriter(w)
		defer func() { _ = zipped.Close() }()
		var one call
		if json.Unmarshal(body, &one) == nil {
			fmt.Fprint(zipped, say(one))
			return
		}
		var all []call
		var said []string
		_ = json.Unmarshal(body, &all)
		for _, c := range all {
			said = append(said, say(c))
		}
		fmt.Fprint(zipped, "["+strings.Join(said, ",")+"]")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Answers in forms that servers use: what has a result is one, also with an error that is null beside it. What has neither,
// what is an array where one answer is due, and the answer to another request are errors of the endpoint.
func TestFormsOfAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ form, want string }{
		"the usual one":       {`{"jsonrpc":"2.0","id":ID,"result":RESULT}`, ""},
		"no version":          {`{"id":ID,"result":RESULT}`, ""},
		"an error of null":    {`{"jsonrpc":"2.0","id":ID,"error":null,"result":RESULT}`, ""},
		"the same behind":     {`{"id":ID, "result":RESULT, "error" : null}`, ""},
		"an error beside":     {`{"jsonrpc":"2.0","id":ID,"error":{"code":-3,"message":"no way"},"result":RESULT}`, "no way"},
		"an error of no form": {`{"jsonrpc":"2.0","id":ID,"error":"null","result":RESULT}`, "error 0"},
		"neither":             {`{"jsonrpc":"2.0","id":ID}`, "no result"},
		"only null":           {`{"jsonrpc":"2.0","id":ID,"error":null}`, "no result"},
		"the ID of another":   {`{"jsonrpc":"2.0","id":7ID,"result":RESULT}`, "that to another request"},
		"an array of one":     {`[{"jsonrpc":"2.0","id":ID,"result":RESULT}]`, "cannot unmarshal array"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := open(t, evm.Config{ChainID: 1337, URL: inForm(t, c.form)})
			if _, err := driver.Describe(t.Context()); (err == nil) != (c.want == "") {
				t.Errorf("several calls at once: got %v, want an error %v", err, c.want != "")
			}
			n, err := evm.Ask(t.Context(), inForm(t, c.form), "eth_getTransactionCount")
			switch {
			case c.want == "" && (err != nil || n != "0x7"):
				t.Errorf("got %q, %v, want 0x7", n, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, chain.ErrUnreachable) && !errors.Is(err, chain.ErrAnswer)):
				t.Errorf("got %q, %v, want an error of the endpoint with %q", n, err, c.want)
			}
		})
	}
}

// An error of null gets another name wherever it stands, and nothing else is changed; the error of a body is that of the request.
func TestNullErrors(t *testing.T) {
	t.Parallel()
	const text = `[{"id":1,"result":"\"error\":null","error":null},{"error" : null},{"error":{"data":"null"}},{"errors":null},"error"]`
	want := strings.NewReplacer(`"error":null}`, `"_null":null}`, `{"error" : null`, `{"_null":null`).Replace(text)
	read := func(body io.Reader) (string, error) {
		request := httptest.NewRequest(http.MethodPost, "/", nil)
		answer, err := evm.Noter(served{body}).RoundTrip(request)
		if err != nil {
			return "", err
		}
		got, err := io.ReadAll(answer.Body)
		return string(got), errors.Join(err, answer.Body.Close())
	}
	if got, err := read(strings.NewReader(text)); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := read(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the error of the body", err)
	}
}

// served is a transport whose every answer has one body.
type served struct{ body io.Reader }

func (s served) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(s.body)}, nil
}

// A redirection to another place is not followed: the request may have a secret in its URL or its headers. The error names
// that place and no secret. One to the same place is followed, if it asks the same.
func TestRedirections(t *testing.T) {
	t.Parallel()
	var strayed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	t.Cleanup(other.Close)
	node := inForm(t, `{"jsonrpc":"2.0","id":ID,"result":RESULT}`)
	for name, c := range map[string]struct {
		status int
		to     string
		want   string
	}{
		"another host":            {307, other.URL + "/v3/s3cret", "sends what is asked on to " + other.URL},
		"another host, for good":  {308, other.URL + "/v3/s3cret", "sends what is asked on to " + other.URL},
		"the same place":          {307, "/here", ""},
		"the same place, by GET":  {302, "/here", "sends what is asked on to http://127.0.0.1"},
		"another scheme":          {308, "https://", "sends what is asked on to https://127.0.0.1"},
		"without an end":          {307, "/v3/s3cret", "sends what is asked on to"},
		"another host, after one": {307, "/there", "sends what is asked on to " + other.URL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := gateway(t, node, func(http.ResponseWriter, string) bool { return false })
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/here":
					forwarded, err := http.Post(backend, "application/json", r.Body)
					if err == nil {
						_, _ = io.Copy(w, forwarded.Body)
						_ = forwarded.Body.Close()
					}
					return
				case "/there":
					w.Header().Set("Location", other.URL)
				default:
					to := c.to
					if to == "https://" {
						to += r.Host
					}
					w.Header().Set("Location", to)
				}
				w.WriteHeader(c.status)
			}))
			t.Cleanup(s.Close)
			_, err := evm.Ask(t.Context(), s.URL+"/v3/s3cret", "eth_getTransactionCount")
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("got %v, want an error with %q and no secret", err, c.want)
			}
		})
	}
	t.Cleanup(func() {
		if n := strayed.Load(); n != 0 {
			t.Errorf("the other host was asked %d times", n)
		}
	})
}

// counter is a node that gives the same number everywhere: as block number, nonce and next nonce.
type counter struct {
	count    string
	untagged bool // it lacks the tag "finalized"
}

var (
	counted = make(hexutil.Bytes, 32) // hash of every block and transaction of a counter
	sender  = make(hexutil.Bytes, 20)
)

func (n counter) say(method string, params []json.RawMessage) any {
	tx := map[string]any{"hash": counted, "from": sender, "nonce": n.count, "blockHash": counted, "blockNumber": n.count}
	switch {
	case method == "eth_getTransactionCount":
		return n.count
	case method == "eth_blockNumber":
		return "0x9"
	case method == "eth_getTransactionByHash":
		return tx
	case method == "eth_sendRawTransaction":
		return hexutil.Bytes("h")
	case method == "eth_getTransactionReceipt":
		return map[string]any{"transactionHash": counted, "from": sender, "blockHash": counted, "status": "0x1"}
	case method == "eth_getBlockReceipts":
		return []any{n.say("eth_getTransactionReceipt", nil)}
	case method == "eth_getBlockByNumber" && string(params[0]) == `"finalized"` && n.untagged:
		return errors.New("no such tag")
	case method == "eth_getBlockByNumber", method == "eth_getBlockByHash":
		block, _ := healthy("eth_getBlockByNumber", nil).(map[string]any)
		block["number"], block["transactions"] = n.count, []any{tx}
		return block
	}
	return healthy(method, params)
}

// A number above 2^63 - 1 is no answer. It would be stored as a negative one, and pending gives
// away no nonce below the highest that it was ever told.
func TestAbsurdCounts(t *testing.T) {
	t.Parallel()
	block, a := chain.Block{Number: 1<<63 - 1, Hash: chain.Hash(counted)}, chain.Account(sender)
	for name, ask := range map[string]func(tagged, untagged *evm.Chain) error{
		"next": func(c, _ *evm.Chain) error {
			_, err := c.Next(t.Context(), a)
			return err
		},
		"a nonce in a block": func(c, _ *evm.Chain) error {
			_, err := c.Inclusions(t.Context(), block, []chain.Account{a})
			return err
		},
		"a nonce beside a receipt": func(c, _ *evm.Chain) error {
			c.Submit(t.Context(), []chain.Signed{{Hash: "h"}})
			_, err := c.Inclusions(t.Context(), block, []chain.Account{a})
			return err
		},
		"the block of a probe": func(c, _ *evm.Chain) error {
			_, err := c.Probe(t.Context(), []chain.Hash{chain.Hash(counted)})
			return err
		},
		"a head": func(c, _ *evm.Chain) error {
			for _, err := range c.Heads(t.Context(), chain.Block{}) {
				return err
			}
			return nil
		},
	} {
		for count, want := range map[string]error{
			"0x7fffffffffffffff": nil, "0x8000000000000000": chain.ErrAnswer, "0xffffffffffffffff": chain.ErrAnswer,
		} {
			tagged := open(t, evm.Config{ChainID: 1337, URL: serve(t, counter{count: count}.say)})
			untagged := open(t, evm.Config{ChainID: 1337, URL: serve(t, counter{count: count, untagged: true}.say), Depth: 1})
			if err := ask(tagged, untagged); !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("%s of %s: got error %v, want %v", name, count, err, want)
			}
		}
	}
}

// An address is taken in small letters, in capitals, or with the checksum of EIP-55 (whose own examples these are). Anything
// else is refused in one sentence that says what is wrong with it.
func TestParseAddress(t *testing.T) {
	const right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	for _, text := range []string{
		right, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
		"0x52908400098527886E0F7030069857D2E4169EE7", "0xde709f2102306220921060314715629080e2fb77",
		strings.ToLower(right), "0x" + strings.ToUpper(right[2:]), strings.ToUpper(right), "0x" + strings.Repeat("1", 40),
	} {
		if got, err := evm.ParseAddress(text); err != nil || got.String() != strings.ToLower(text) {
			t.Errorf("%s: got %v, %v, want it", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD": "with these digits it is " + right, // the last letter
		"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed": "with these digits it is " + right,
		"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeD": "with these digits it is " + right,
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAdd": "with these digits it is 0x5aAEb6053F3e94c9B9A09F33669435e7Ef1BeaDd", // another digit
		"": "it is empty",
		"5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed": "does not begin with 0x",
		"0x": "it has 0 digits after 0x", "0x5aAe": "it has 4 digits after 0x", right + "00": "it has 42 digits after 0x", "0x0X" + right[4:]: "no hexadecimal digit",
		"0X0x" + right[4:]: "no hexadecimal digit", "0x0x" + right[2:]: "no hexadecimal digit",
		"XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS": "does not begin with 0x", "vitalik.eth": "it is a name", "alice": "does not begin with 0x",
		" " + right: "(U+0020)", right + "\n": "(U+000A)", right[:9] + "\u200b" + right[9:]: "(U+200B)", "\ufeff" + right: "(U+FEFF)", right[:9] + "\u00a0": "(U+00A0)",
		"0x5\u0430Aeb6053F3E94C9b9A09f33669435E7Ef1BeAed": "(U+0430) is no hexadecimal digit", "0x\xff": "no hexadecimal digit",
	} {
		got, err := evm.ParseAddress(text)
		if err == nil || !strings.Contains(err.Error(), want) || got != "" {
			t.Errorf("%q: got %v, %v, want %q", text, got, err, want)
		}
		if errors.Is(err, evm.ErrChecksum) != strings.HasPrefix(want, "with these") {
			t.Errorf("%q: %v is no error of a checksum, or should be one", text, err)
		}
	}
}

// unusedAddress returns an address of the same scheme without a listener. It uses port 1, since
// another program may have taken a port that was just closed.
func unusedAddress(t testing.TB, like string) string {
	t.Helper()
	u, err := url.Parse(like)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = "127.0.0.1:1"
	return u.String()
}

// keptAddress returns an address whose port stays free: it is below those that the kernel gives away.
func keptAddress(t testing.TB) string {
	t.Helper()
	const lowest, tries = 20_000, 50
	first := 32_768 // lowest port that Linux gives away by default; most systems begin higher
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	low, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\t")
	if n, err := strconv.Atoi(low); err == nil {
		first = n
	}
	var fault error
	for range tries {
		port := 0 // for a kernel that gives away all ports
		if first > lowest {
			port = lowest + rand.IntN(first-lowest)
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			address := l.Addr().String()
			_ = l.Close()
			return address
		}
		fault = err
	}
	t.Fatal(fault)
	return ""
}
