//go:build race

package main_test

// raceFlag builds the program as these tests were built.
const raceFlag = "-race"
