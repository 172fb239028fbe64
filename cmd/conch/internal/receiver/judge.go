package receiver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"syscall"

	"github.com/conchhq/conch/alerts"
)

// gateways are the statuses of one that stands before a receiver and has not heard its answer: 520 and 524 are Cloudflare's.
var gateways = []int{http.StatusBadGateway, http.StatusGatewayTimeout, 520, 524}

// judge says what an outcome means, and why, without what the receiver says. See the package's comment for the reasons.
func (o outcome) judge(kind alerts.Kind) (alerts.Answer, string) {
	text := fmt.Sprintf("answer %d", o.status)
	switch {
	case o.fixed == alerts.Taken:
		return o.fixed, o.partly
	case o.fixed != 0 && o.status != 0:
		return o.fixed, text
	case o.status == 0 && (o.left || o.fixed == alerts.Doubted):
		return alerts.Doubted, faultOf(o) + ", after the message had left"
	case o.status == 0:
		return alerts.Failed, faultOf(o)
	case o.status/100 == 2 && (o.ends == nil || slices.Contains(o.ends, o.status)):
		return alerts.Taken, ""
	case o.status/100 == 2:
		return alerts.Doubted, text + ", which is not what this kind of receiver says"
	case o.status/100 == 3:
		return alerts.Refused, text + ": redirects are not followed, so its address has to be the one that it leads to"
	case o.status == http.StatusRequestTimeout || o.status == http.StatusTooEarly || o.status == http.StatusTooManyRequests:
		return alerts.Failed, text
	case o.status/100 == 4:
		return alerts.Refused, text
	case kind != alerts.Text && slices.Contains(gateways, o.status):
		return alerts.Doubted, text + ", by a gateway before it"
	default:
		return alerts.Failed, text
	}
}

// faultOf puts into words why there is no answer. Clients quote addresses and certificates in their errors; of what is not known here only the
// innermost one is left, from which the caller takes the secrets.
func faultOf(o outcome) string {
	if o.shut {
		return "this process may not tell it any more"
	}
	for _, k := range known {
		if k.is(o.err) {
			return k.text
		}
	}
	err := o.err
	for {
		var address *url.Error
		var network *net.OpError
		switch {
		case errors.As(err, &address) && address.Err != nil:
			err = address.Err
		case errors.As(err, &network) && network.Err != nil:
			err = network.Err
		default:
			return err.Error()
		}
	}
}

// known are errors that have words of their own here. The first one that fits is said.
var known = []struct {
	text string
	is   func(error) bool
}{
	{"the attempt was ended", is(context.Canceled)},
	{"the name of its host cannot be looked up", isA[*net.DNSError]},
	{"there is no answer in time", func(err error) bool {
		var t net.Error
		return is(context.DeadlineExceeded, os.ErrDeadlineExceeded)(err) || errors.As(err, &t) && t.Timeout()
	}},
	{"its host refuses connections", is(syscall.ECONNREFUSED)},
	{"no way leads to its host", is(syscall.EHOSTUNREACH, syscall.ENETUNREACH)},
	{"it broke the connection", is(syscall.ECONNRESET, syscall.EPIPE)},
	{"its certificate is signed by nobody whom this machine knows: name the authority as ca_file", isA[x509.UnknownAuthorityError]},
	{"its certificate is for another host", isA[x509.HostnameError]},
	{"its certificate has expired, or is not valid for this", isA[x509.CertificateInvalidError]},
	{"it does not speak TLS at this port", isA[tls.RecordHeaderError]},
	{"it has broken off TLS", isA[tls.AlertError]},
	{"its answer is none of its protocol", isA[textproto.ProtocolError]},
	{"it hung up", is(io.EOF, io.ErrUnexpectedEOF)},
}

func is(some ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(some, func(one error) bool { return errors.Is(err, one) })
	}
}

func isA[E error](err error) bool {
	var of E
	return errors.As(err, &of)
}
