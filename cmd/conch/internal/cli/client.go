package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/internal/secretfile"
)

const (
	envNode      = "CONCH_NODE_URL"
	envTokenFile = "CONCH_TOKEN_FILE" //nolint:gosec // where a token is, not one
	localNode    = "http://127.0.0.1:7070"

	requestPatience = 20 * time.Second
	largestAnswer   = 64 << 20
)

// Client sends requests to a node's API. Call Prepare before Ask.
type Client struct {
	node      string
	tokenFile string
	base      string // of URLs
	name      string // of the node, as the caller has given it
	token     string
	http      *http.Client
}

// NewClient returns a client for a command that asks several nodes, and has flags of its own for them.
func NewClient(node, tokenFile string) *Client { return &Client{node: node, tokenFile: tokenFile} }

// Flags adds --node and --token-file to a command.
func (c *Client) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.node, "node", "", "`URL` of any node's API, or unix:/path; else "+envNode+", else "+localNode)
	cmd.Flags().StringVar(&c.tokenFile, "token-file", "", "`file` with the token; else "+envTokenFile)
}

// Given returns the flags by which the caller has named the node and the token, as words of a shell with a space before them: for a
// command that is printed to be repeated.
func (c *Client) Given() (flags string) {
	if c.node != "" {
		flags += " --node " + Quoted(c.node)
	}
	if c.tokenFile != "" {
		flags += " --token-file " + Quoted(c.tokenFile)
	}
	return flags
}

// Quoted is a text as one word of a shell.
func Quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Prepare determines the node and the token from flags and environment.
func (c *Client) Prepare(getenv func(string) string) error {
	node, file := c.node, c.tokenFile
	node = cmp.Or(node, getenv(envNode), localNode)
	file = cmp.Or(file, getenv(envTokenFile))
	// A redirected POST would become a GET without its body: the answer would be to another request.
	c.http = &http.Client{Timeout: requestPatience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	c.base = strings.TrimSuffix(node, "/")
	c.name = c.base
	if path, local := strings.CutPrefix(node, "unix:"); local {
		c.base = "http://localhost"
		c.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}
	}
	u, err := url.Parse(c.base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery+u.Fragment != "" {
		return Usagef("--node is not a URL such as https://conch.example:7070, nor unix:/path")
	}
	if file == "" {
		return nil
	}
	if u.Scheme == "http" && !isLocal(u.Hostname()) {
		return Usagef("the token would travel to %s in the clear: use https", u.Host)
	}
	if c.token, err = readToken(file); err != nil {
		return usage{err}
	}
	return nil
}

// Expect has the client of a node's own machine take the certificate of a file for the node's, and no other: it may be written for another
// name than the one by which the node is asked here. It follows Prepare.
func (c *Client) Expect(certFile string) error {
	text, err := os.ReadFile(certFile)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return fmt.Errorf("%s has no certificate", certFile)
	}
	c.http.Transport = &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection compares the certificate itself
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, block.Bytes) {
				return fmt.Errorf("the answer at %s does not come with the certificate of %s", c.name, certFile)
			}
			return nil
		},
	}}
	return nil
}

func isLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// readToken returns the first token of a file: alone on its line, or after a name.
func readToken(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the token cannot be read: %w", err)
	}
	for line := range strings.Lines(string(secretfile.Text(text))) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			return words[len(words)-1], nil
		}
	}
	return "", errors.New(file + " holds no token")
}

// Ask sends a request and decodes its answer into out.
func (c *Client) Ask(ctx context.Context, method, path string, body, out any) error {
	status, text, err := c.exchange(ctx, method, path, body)
	switch {
	case err != nil:
		return err
	case status >= http.StatusMultipleChoices:
		return refusalOf(status, text)
	case json.Unmarshal(text, out) != nil:
		return c.Stranger()
	}
	return nil
}

// exchange sends a request and returns its answer, whatever it says.
func (c *Client) exchange(ctx context.Context, method, path string, body any) (status int, text []byte, err error) {
	var sent io.Reader
	if body != nil {
		text := new(bytes.Buffer)
		enc := json.NewEncoder(text)
		enc.SetEscapeHTML(false) // what the caller has typed stays as it is, and as long
		if err := enc.Encode(body); err != nil {
			return 0, nil, err
		}
		sent = text
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, sent)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return 0, nil, c.silent(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err = io.ReadAll(io.LimitReader(answer.Body, largestAnswer))
	if err != nil {
		return 0, nil, c.unanswered(ctx, fmt.Errorf("the answer of the node at %s was cut off: %w", c.name, err))
	}
	if to, err := answer.Location(); err == nil && answer.StatusCode < http.StatusBadRequest && answer.StatusCode >= http.StatusMultipleChoices {
		return 0, nil, fmt.Errorf("the server at %s is not a conch node: it redirects to %s://%s; name that with --node if it is a node", c.name, to.Scheme, to.Host)
	}
	return answer.StatusCode, text, nil
}

// silent returns the error of a request that has no answer.
func (c *Client) silent(ctx context.Context, err error) error {
	if unknown, is := errors.AsType[*net.DNSError](err); is && unknown.IsNotFound && ctx.Err() == nil {
		return awayError{fmt.Errorf("no machine is called %s: name another with --node", unknown.Name)}
	}
	if refused, is := errors.AsType[*net.OpError](err); is && refused.Op == "dial" && ctx.Err() == nil {
		return awayError{fmt.Errorf("no node answers at %s: start one, or name another with --node", c.name)}
	}
	if late, is := errors.AsType[*url.Error](err); is && late.Timeout() && ctx.Err() == nil {
		return c.unanswered(ctx, fmt.Errorf("the node at %s gave no answer in %v: it stands still, or is very busy", c.name, c.http.Timeout))
	}
	if ctx.Err() == nil && noHTTP(err) {
		err = fmt.Errorf("%w. If that is the port for its peers, listen in [identity], name the one of its API, listen in [node]", cause(err))
	}
	return c.unanswered(ctx, fmt.Errorf("the node at %s gave no answer: %w", c.name, err))
}

// noHTTP reports whether a request has failed as it does at the port for peers: that one wants a certificate first, has one that only
// peers know, and ends the connection otherwise. A node that ended may look the same.
func noHTTP(err error) bool {
	text := err.Error()
	return errors.Is(err, io.EOF) || strings.Contains(text, "malformed HTTP response") || strings.Contains(text, "tls: ")
}

// cause returns why a request has failed, without the request.
func cause(err error) error {
	if request, is := errors.AsType[*url.Error](err); is {
		err = request.Err
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it ended the connection")
	}
	return err
}

// Stranger returns the error for an answer that no node gives.
func (c *Client) Stranger() error {
	return unansweredError{fmt.Errorf("the server at %s is not a conch node", c.name)}
}
