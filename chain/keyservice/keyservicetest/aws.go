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

func (aws) verify(_ *StandIn, r *http.Request, body []byte) string {
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
	if scheme != "AWS4-HMAC-SHA256" || id != AccessKey || len(parts) != 4 || parts[1] != Region || parts[2] != "kms" || !strings.HasPrefix(at, parts[0]) {
		return "the request is not signed for this region and service: " + scope
	}
	for _, name := range []string{"host", "x-amz-date", "x-amz-target", "x-amz-security-token"} {
		if !slices.Contains(signed, name) {
			return "the signature does not cover " + name
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
	if fields["Signature"] != hex.EncodeToString(want) {
		return "the signature is wrong"
	}
	if r.Header.Get("X-Amz-Security-Token") != Session {
		return "the session's token is wrong"
	}
	return ""
}

func (a aws) answer(s *StandIn, w http.ResponseWriter, r *http.Request, body []byte) {
	var asked struct {
		KeyID            string `json:"KeyId"`
		Message          []byte
		MessageType      string
		SigningAlgorithm string
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if r.Header.Get("Content-Type") != "application/x-amz-json-1.1" || json.Unmarshal(body, &asked) != nil || asked.KeyID != s.Name {
		s.complain("the request cannot be read: " + string(body))
		a.fail(w, keyservice.Missing, "")
		return
	}
	switch r.Header.Get("X-Amz-Target") {
	case "TrentService.GetPublicKey":
		s.mu.Lock()
		defer s.mu.Unlock()
		answer(w, map[string]any{"KeyId": s.Name, "KeySpec": "ECC_SECG_P256K1", "KeyUsage": "SIGN_VERIFY", "PublicKey": s.key.Public, "SigningAlgorithms": []string{"ECDSA_SHA_256"}})
	case "TrentService.Sign":
		if asked.MessageType != "DIGEST" || asked.SigningAlgorithm != "ECDSA_SHA_256" || len(asked.Message) != 32 {
			s.complain("what is asked for is not a signature of a hash: " + string(body))
			a.fail(w, keyservice.Unfit, "")
			return
		}
		signature, throttled := s.sign(asked.Message)
		if throttled {
			a.fail(w, keyservice.Throttled, "")
			return
		}
		answer(w, map[string]any{"KeyId": s.Name, "Signature": signature, "SigningAlgorithm": "ECDSA_SHA_256"})
	default:
		s.complain("there is no such operation: " + r.Header.Get("X-Amz-Target"))
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (aws) fail(w http.ResponseWriter, kind keyservice.Kind, text string) {
	status, code := http.StatusBadRequest, map[keyservice.Kind]string{
		keyservice.Throttled: "ThrottlingException", keyservice.Denied: "AccessDeniedException", keyservice.Disabled: "KMSInvalidStateException",
		keyservice.Missing: "NotFoundException", keyservice.Unfit: "InvalidKeyUsageException", keyservice.Away: "KMSInternalException", keyservice.Refused: "ValidationException",
	}[kind]
	if kind == keyservice.Away {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(status)
	answer(w, map[string]string{"__type": code, "message": text})
}
