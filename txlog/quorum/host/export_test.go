package host

// MostReading is how many queries run at a time.
const MostReading = mostReading
