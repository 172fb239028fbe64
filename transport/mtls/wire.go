package mtls

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/conchhq/conch/transport"
)

// What the nodes say to each other is packets: a hello first, then batches of frames, and another hello when what a node
// claims has changed. Numbers are unsigned varints, and a text is its length and its bytes.
//
//	hello: 1, version, name of the sender, number of claims, for each: subject, key, value (sorted, none twice)
//	batch: 2, frames up to the end, each: subject, body
const (
	version = 1

	kindHello = 1
	kindBatch = 2

	mostName    = 64      // bytes of a node's name, and of a subject
	mostKey     = 128     // bytes of the key of a claim
	mostValue   = 128     // bytes of its value
	mostClaims  = 1024    // of a node, in all subjects
	mostHello   = 1 << 19 // bytes, more than all claims need
	mostPacket  = transport.MostBody + mostName + 16
	fullBatch   = 256 << 10 // bytes after which a batch takes no further frame
	batchFrames = 1024
)

var errMalformed = errors.New("it is cut off, too long or not in order")

// hello is what a node says of itself.
type hello struct {
	version uint64
	from    string
	claims  map[string]transport.Claims // by subject
}

func (h *hello) packet() []byte {
	to := binary.AppendUvarint([]byte{kindHello}, h.version)
	to = appendText(to, h.from)
	count := 0
	for _, claims := range h.claims {
		count += len(claims)
	}
	to = binary.AppendUvarint(to, uint64(count))
	for _, subject := range slices.Sorted(maps.Keys(h.claims)) {
		for _, key := range slices.Sorted(maps.Keys(h.claims[subject])) {
			to = appendText(appendText(appendText(to, subject), key), h.claims[subject][key])
		}
	}
	return to
}

// readHello reads a packet after its kind. Of another version only the number is read.
func readHello(data []byte) (h hello, err error) {
	r := reader{rest: data}
	if h.version = r.number(); r.failed {
		return hello{}, errMalformed
	}
	if h.version != version {
		return h, nil
	}
	h.from = string(r.text(mostName))
	h.claims = map[string]transport.Claims{}
	count := r.number()
	if count > mostClaims {
		return hello{}, fmt.Errorf("%d claims, and %d are allowed", count, mostClaims)
	}
	lastSubject, lastKey := "", ""
	for i := range count {
		subject, key, value := string(r.text(mostName)), string(r.text(mostKey)), r.text(mostValue)
		if r.failed || i > 0 && (subject < lastSubject || subject == lastSubject && key <= lastKey) {
			return hello{}, errMalformed
		}
		if h.claims[subject] == nil {
			h.claims[subject] = transport.Claims{}
		}
		h.claims[subject][key] = slices.Clone(value)
		lastSubject, lastKey = subject, key
	}
	if r.failed || len(r.rest) > 0 || h.from == "" {
		return hello{}, errMalformed
	}
	return h, nil
}

// appendFrame adds a frame to a batch, which begins with its kind.
func appendFrame(to []byte, subject string, body []byte) []byte {
	return appendText(appendText(to, subject), body)
}

// readBatch calls each with the frames of a packet after its kind, up to the first that is wrong. The bodies are part of
// data.
func readBatch(data []byte, each func(subject, body []byte)) error {
	for r := (reader{rest: data}); len(r.rest) > 0; {
		subject, body := r.text(mostName), r.text(transport.MostBody)
		if r.failed {
			return errMalformed
		}
		each(subject, body)
	}
	return nil
}

func appendText[T string | []byte](to []byte, text T) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// reader takes values from bytes. After the first failure it returns nothing.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || r.failed {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text(most int) []byte {
	size := r.number()
	if r.failed || size > uint64(min(most, len(r.rest))) {
		r.failed = true
		return nil
	}
	text := r.rest[:size:size]
	r.rest = r.rest[size:]
	return text
}
