package recall

// stopword tells whether w is an English function word: it says nothing about what a text is about, and would be
// most of the index.
func stopword(w []byte) bool {
	switch string(w) {
	case "a", "an", "the", "and", "or", "but", "if", "of", "at", "by", "for", "with", "to", "from", "in", "on", "as",
		"is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "has", "have", "had", "having",
		"i", "me", "my", "we", "our", "us", "you", "your", "he", "him", "his", "she", "her", "it", "its", "they",
		"them", "their", "this", "that", "these", "those", "there", "here", "what", "which", "who", "whom", "when",
		"where", "why", "how", "so", "than", "then", "too", "very", "can", "could", "will", "would", "shall", "should", "may",
		"might", "must", "not", "no", "nor", "about", "into", "over", "out", "up", "down", "just", "also",
		"ll", "ve", "re", "don", "didn", "isn", "wasn", "doesn", "im", "some", "any", "all", "more", "most", "such":
		return true
	}
	return false
}
