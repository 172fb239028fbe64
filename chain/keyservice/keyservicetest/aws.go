package keyservicetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/chain/keyservice"
)

// aws speaks JSON 1.1 with requests that are signed by SigV4.
type aws struct{}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// verify computes the signature again, of what has come.
func (aws) verify(s *StandIn, r *http.Request, body []byte) (string, string) {
	const wrong, unknown = "InvalidSignatureException", "UnrecognizedClientException"
	fields := map[string]string{}
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	at := r.Header.Get("X-Amz-Date")
	id, scope, _ := strings.Cut(fields["Credential"], "/")
	parts := strings.Split(scope, "/")
	signed := strings.Split(fields["SignedHeaders"], ";")
	if scheme != "AWS4-HMAC-SHA256" || len(parts) != 4 || parts[1] != Region || parts[2] != "kms" || parts[3] != "aws4_request" || !strings.HasPrefix(at, parts[0]) {
		return "the request is not signed for this region and service: " + scope, wrong
	}
	if when, err := time.Parse("20060102T150405Z", at); err != nil || s.clock().Sub(when).Abs() > 5*time.Minute {
		return "the request is signed at another time: " + at, wrong
	}
	for _, name := range []string{"host", "x-amz-date", "x-amz-target", "x-amz-security-token"} {
		if !slices.Contains(signed, name) {
			return "the signature does not cover " + name, wrong
		}
	}
	var headers strings.Builder
	for _, name := range signed {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.TrimSpace(value))
	}
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, headers.String(), fields["SignedHeaders"], digest(body)}, "\n")
	key := []byte("AWS4" + SecretKey)
	for _, part := range parts {
		key = mac(key, part)
	}
	want := mac(key, strings.Join([]string{scheme, at, scope, digest([]byte(canonical))}, "\n"))
	switch {
	case id != AccessKey, r.Header.Get("X-Amz-Security-Token") != Session:
		return "the access key or the session's token is wrong", unknown
	case fields["Signature"] != hex.EncodeToString(want):
		return "the signature is wrong", wrong
	}
	return "", ""
}

func (aws) read(s *StandIn, r *http.Request, body []byte) (operation, []byte) {
	var asked struct {
		KeyID            string `json:"KeyId"`
		Message          []byte
		MessageType      string
		SigningAlgorithm string
	}
	target := r.Header.Get("X-Amz-Target")
	switch {
	case r.Method+r.URL.Path != "POST/", r.Header.Get("Content-Type") != "application/x-amz-json-1.1", json.Unmarshal(body, &asked) != nil, asked.KeyID != s.Name:
	case target == "TrentService.GetPublicKey":
		return showKey, nil
	case target == "TrentService.Sign" && asked.MessageType == "DIGEST" && asked.SigningAlgorithm == "ECDSA_SHA_256":
		return sign, asked.Message
	}
	return none, nil
}

func (aws) key(s *StandIn, public []byte) any {
	return map[string]any{"KeyId": s.Name, "KeySpec": "ECC_SECG_P256K1", "KeyUsage": "SIGN_VERIFY", "PublicKey": public, "SigningAlgorithms": []string{"ECDSA_SHA_256"}}
}

func (aws) signed(s *StandIn, signature []byte) any {
	return map[string]any{"KeyId": s.Name, "Signature": signature, "SigningAlgorithm": "ECDSA_SHA_256"}
}

func (aws) fault(kind keyservice.Kind, code, text string) (int, any) {
	status := http.StatusBadRequest
	if kind == keyservice.Away {
		status = http.StatusInternalServerError
	}
	if code == "" {
		code = map[keyservice.Kind]string{
			keyservice.Throttled: "ThrottlingException", keyservice.Denied: "AccessDeniedException", keyservice.Disabled: "KMSInvalidStateException",
			keyservice.Missing: "NotFoundException", keyservice.Unfit: "InvalidKeyUsageException", keyservice.Away: "KMSInternalException", keyservice.Refused: "ValidationException",
		}[kind]
	}
	return status, map[string]string{"__type": code, "message": text}
}
