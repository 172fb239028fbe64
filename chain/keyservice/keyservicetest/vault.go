package keyservicetest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"

	"github.com/conchhq/conch/chain/keyservice"
)

// vault speaks the API of the transit engine, and has a type of key that Vault's own does not have.
type vault struct{}

func (vault) verify(_ *StandIn, r *http.Request, _ []byte) string {
	if r.Header.Get("X-Vault-Token") != Token || r.Header.Get("X-Vault-Namespace") != Namespace || r.Header.Get("X-Vault-Request") != "true" {
		return "the token or the namespace is wrong"
	}
	return ""
}

func (v vault) answer(s *StandIn, w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/transit/keys/payouts":
		s.mu.Lock()
		text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: s.key.Public})
		s.mu.Unlock()
		answer(w, map[string]any{"data": map[string]any{
			"type": "ecdsa-secp256k1", "latest_version": 2, "supports_signing": true,
			"keys": map[string]any{"1": map[string]string{"public_key": "old"}, "2": map[string]string{"public_key": string(text)}},
		}})
	case "PUT /v1/transit/sign/payouts":
		var asked struct {
			Input       []byte
			Prehashed   bool
			Marshalling string `json:"marshaling_algorithm"`
		}
		if json.Unmarshal(body, &asked) != nil || !asked.Prehashed || asked.Marshalling != "asn1" || len(asked.Input) != 32 {
			s.complain("what is asked for is not a signature of a hash: " + string(body))
			v.fail(w, keyservice.Refused, "")
			return
		}
		signature, throttled := s.sign(asked.Input)
		if throttled {
			v.fail(w, keyservice.Throttled, "")
			return
		}
		answer(w, map[string]any{"data": map[string]any{"signature": "vault:v2:" + base64.StdEncoding.EncodeToString(signature), "key_version": 2}})
	default:
		s.complain("there is no such operation: " + r.Method + " " + r.URL.Path)
		v.fail(w, keyservice.Missing, "")
	}
}

func (vault) fail(w http.ResponseWriter, kind keyservice.Kind, text string) {
	status, why := map[keyservice.Kind]int{
		keyservice.Throttled: http.StatusTooManyRequests, keyservice.Denied: http.StatusForbidden, keyservice.Away: http.StatusServiceUnavailable, keyservice.Missing: http.StatusNotFound,
	}[kind], map[keyservice.Kind]string{
		keyservice.Disabled: "key has been soft-deleted", keyservice.Unfit: "key type ecdsa-p256 does not support this", keyservice.Refused: "invalid request",
	}[kind]
	if status == 0 {
		status = http.StatusBadRequest
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	answer(w, map[string][]string{"errors": {why, text}})
}
