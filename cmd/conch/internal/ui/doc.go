// Package ui is the dashboard: what a node serves to browsers at / and below /assets/. Its sources are in source, TypeScript and a style
// sheet; what is built of them is in dist and embedded, so that nobody who builds conch needs Node.js. scripts/ui.sh builds it again, and
// a test compares.
//
// What is served here has no data in it, and so needs no token: the page asks the API for all that it shows, by relative URLs, with a
// header for the token and without a cookie. It has no sink for HTML, which its policy proves: what other people have named is a text.
//
// Requirements F8, S32.
package ui
