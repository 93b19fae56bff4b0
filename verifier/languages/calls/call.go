package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
)

// Calls a function with arguments that are read from JSON, converted to what it declares.

const (
	verifierMaxDepth = 200
	verifierMaxBytes = 64 << 20
	verifierMaxNodes = 8 << 20
)

// The arguments do not fit the function.
type verifierUnfit struct{ why string }

// The result has no JSON.
type verifierNotPlain struct{ why string }

func verifierLeave(record []byte, status int) {
	channel, err := os.OpenFile(os.Args[2], os.O_WRONLY, 0)
	if err == nil {
		channel.Write(record)
	}
	os.Exit(status)
}

func verifierFailure(kind, text string) []byte {
	if len(text) > 600 {
		text = text[:600]
	}
	record, _ := json.Marshal(map[string]interface{}{"ok": false, "kind": kind, "error": text})
	return record
}

func verifierMissing(name string) {
	verifierLeave(verifierFailure("no_entry_point", "there is no function "+name), 0)
}

func verifierCall(function interface{}) {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	defer func() {
		switch failed := recover().(type) {
		case verifierUnfit:
			fmt.Fprintln(os.Stderr, failed.why)
			verifierLeave(verifierFailure("raised", failed.why), 2)
		case verifierNotPlain:
			verifierLeave(verifierFailure("unserializable", failed.why), 0)
		default:
			fmt.Fprintf(os.Stderr, "panic: %v\n\n%s", failed, debug.Stack())
			verifierLeave(verifierFailure("raised", fmt.Sprintf("panic: %v", failed)), 2)
		}
	}()
	f := reflect.ValueOf(function)
	arguments := verifierArguments(data, f.Type())
	var results []reflect.Value
	if f.Type().IsVariadic() {
		results = f.CallSlice(arguments)
	} else {
		results = f.Call(arguments)
	}
	if last := len(results) - 1; last > 0 {
		if failed, is := results[last].Interface().(error); is {
			panic(failed)
		}
		if results[last].Type() == reflect.TypeOf((*error)(nil)).Elem() {
			results = results[:last]
		}
	}
	out := &bytes.Buffer{}
	out.WriteString(`{"ok":true,"value":`)
	switch len(results) {
	case 0:
		out.WriteString("null")
		if len(arguments) > 0 {
			out.WriteString(`,"in_place":`)
			verifierWrite(out, arguments[0], 0)
		}
	case 1:
		verifierWrite(out, results[0], 0)
	default:
		for i, result := range results {
			out.WriteByte(verifierBefore(i))
			verifierWrite(out, result, 1)
		}
		out.WriteString("]")
	}
	out.WriteString("}")
	verifierLeave(out.Bytes(), 0)
}

func verifierBefore(item int) byte {
	if item == 0 {
		return '['
	}
	return ','
}

func verifierArguments(data []byte, t reflect.Type) []reflect.Value {
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	var given []interface{}
	if err := in.Decode(&given); err != nil && err != io.EOF {
		panic(verifierUnfit{"the test does not fit: " + err.Error()})
	}
	if len(given) != t.NumIn() {
		panic(verifierUnfit{fmt.Sprintf("the function takes %d arguments, the test gives %d", t.NumIn(), len(given))})
	}
	arguments := make([]reflect.Value, len(given))
	for i, value := range given {
		made, why := verifierConverted(value, t.In(i))
		if why != "" {
			panic(verifierUnfit{fmt.Sprintf("the test does not fit: argument %d: it gives %s", i+1, why)})
		}
		arguments[i] = made
	}
	return arguments
}

// ------------------------------------------------------------ from JSON to a declared type

func verifierWhy(value interface{}, t reflect.Type) string {
	got := "null"
	switch v := value.(type) {
	case bool:
		got = "a bool"
	case string:
		got = "a string"
	case json.Number:
		got = "the number " + v.String()
	case []interface{}:
		got = "a list"
	case map[string]interface{}:
		got = "an object"
	}
	if len(got) > 60 {
		got = got[:60]
	}
	return got + " for " + t.String()
}

// The value, and why there is none; "" where there is one.
func verifierConverted(value interface{}, t reflect.Type) (reflect.Value, string) {
	made := reflect.New(t).Elem()
	why := verifierWhy(value, t)
	if verifierIsNode(t) {
		return verifierNode(value, t)
	}
	if value == nil {
		switch t.Kind() {
		case reflect.Ptr, reflect.Interface, reflect.Slice, reflect.Map:
			return made, ""
		}
		return made, why
	}
	switch t.Kind() {
	case reflect.Ptr:
		inner, why := verifierConverted(value, t.Elem())
		if why == "" {
			made.Set(reflect.New(t.Elem()))
			made.Elem().Set(inner)
		}
		return made, why
	case reflect.Interface:
		if t.NumMethod() == 0 {
			made.Set(reflect.ValueOf(verifierPlain(value)))
			return made, ""
		}
	case reflect.Bool:
		if flag, is := value.(bool); is {
			made.SetBool(flag)
			return made, ""
		}
	case reflect.String:
		if text, is := value.(string); is {
			made.SetString(text)
			return made, ""
		}
	case reflect.Float32, reflect.Float64:
		if number, is := value.(json.Number); is {
			float, _ := strconv.ParseFloat(number.String(), 64)
			made.SetFloat(float)
			return made, ""
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if text, is := value.(string); is && t.Kind() == reflect.Int32 && len([]rune(text)) == 1 {
			made.SetInt(int64([]rune(text)[0]))
			return made, ""
		}
		whole := verifierWhole(value)
		if whole != nil && whole.IsInt64() && !made.OverflowInt(whole.Int64()) {
			made.SetInt(whole.Int64())
			return made, ""
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if text, is := value.(string); is && t.Kind() == reflect.Uint8 && len(text) == 1 {
			made.SetUint(uint64(text[0]))
			return made, ""
		}
		whole := verifierWhole(value)
		if whole != nil && whole.IsUint64() && !made.OverflowUint(whole.Uint64()) {
			made.SetUint(whole.Uint64())
			return made, ""
		}
	case reflect.Slice, reflect.Array:
		items, is := value.([]interface{})
		if !is || (t.Kind() == reflect.Array && t.Len() != len(items)) {
			return made, why
		}
		if t.Kind() == reflect.Slice {
			made.Set(reflect.MakeSlice(t, len(items), len(items)))
		}
		for i, item := range items {
			inner, why := verifierConverted(item, t.Elem())
			if why != "" {
				return made, why
			}
			made.Index(i).Set(inner)
		}
		return made, ""
	case reflect.Map:
		object, is := value.(map[string]interface{})
		if !is {
			return made, why
		}
		made.Set(reflect.MakeMap(t))
		for name, item := range object {
			var plain interface{} = name
			if t.Key().Kind() != reflect.String {
				plain = json.Number(name)
			}
			key, why := verifierConverted(plain, t.Key())
			if why != "" {
				return made, why
			}
			inner, why := verifierConverted(item, t.Elem())
			if why != "" {
				return made, why
			}
			made.SetMapIndex(key, inner)
		}
		return made, ""
	}
	return made, why
}

// An integer of JSON, also one like 3.0; nil for anything else.
func verifierWhole(value interface{}) *big.Int {
	number, is := value.(json.Number)
	if !is || len(number) > 400 {
		return nil
	}
	text := number.String()
	if !strings.ContainsAny(text, ".eE") {
		whole, good := new(big.Int).SetString(text, 10)
		if !good {
			return nil
		}
		return whole
	}
	float, err := strconv.ParseFloat(text, 64)
	if err != nil || float != math.Trunc(float) || math.Abs(float) > 1<<53 {
		return nil
	}
	return big.NewInt(int64(float))
}

// What an `interface{}` gets: int where it fits, float64, and the same in lists and maps.
func verifierPlain(value interface{}) interface{} {
	switch v := value.(type) {
	case json.Number:
		if whole, err := strconv.Atoi(v.String()); err == nil {
			return whole
		}
		float, _ := v.Float64()
		return float
	case []interface{}:
		for i := range v {
			v[i] = verifierPlain(v[i])
		}
	case map[string]interface{}:
		for name := range v {
			v[name] = verifierPlain(v[name])
		}
	}
	return value
}

// ------------------------------------------------------------ linked lists and trees

func verifierHas(t reflect.Type, names ...string) bool {
	for _, name := range names {
		if _, has := t.FieldByName(name); !has {
			return false
		}
	}
	return true
}

func verifierIsTree(t reflect.Type) bool { return verifierHas(t, "Val", "Left", "Right") }

func verifierIsNode(t reflect.Type) bool {
	return t.Kind() == reflect.Ptr && t.Elem().Kind() == reflect.Struct &&
		(verifierIsTree(t.Elem()) || verifierHas(t.Elem(), "Val", "Next"))
}

func verifierNode(value interface{}, t reflect.Type) (reflect.Value, string) {
	none := reflect.Zero(t)
	items, is := value.([]interface{})
	if value != nil && !is {
		return none, verifierWhy(value, t)
	}
	root := reflect.New(t).Elem()
	places := []reflect.Value{root}
	for _, item := range items {
		if len(places) == 0 {
			if item == nil {
				continue
			}
			return none, "a tree with a value below no node"
		}
		place := places[0]
		places = places[1:]
		if item == nil && verifierIsTree(t.Elem()) {
			continue
		}
		node := reflect.New(t.Elem())
		val, why := verifierConverted(item, node.Elem().FieldByName("Val").Type())
		if why != "" {
			return none, why
		}
		node.Elem().FieldByName("Val").Set(val)
		place.Set(node)
		if verifierIsTree(t.Elem()) {
			places = append(places, node.Elem().FieldByName("Left"), node.Elem().FieldByName("Right"))
		} else {
			places = append(places, node.Elem().FieldByName("Next"))
		}
	}
	return root, ""
}

func verifierWriteNode(out *bytes.Buffer, root reflect.Value, depth int) {
	nodes := []reflect.Value{root}
	for i := 0; i < len(nodes); i++ {
		if len(nodes) > verifierMaxNodes {
			panic(verifierNotPlain{"nodes without an end"})
		}
		if nodes[i].IsNil() {
			continue
		}
		if node := nodes[i].Elem(); verifierIsTree(node.Type()) {
			nodes = append(nodes, node.FieldByName("Left"), node.FieldByName("Right"))
		} else {
			nodes = append(nodes, node.FieldByName("Next"))
		}
	}
	for len(nodes) > 0 && nodes[len(nodes)-1].IsNil() {
		nodes = nodes[:len(nodes)-1]
	}
	out.WriteString("[")
	for i, node := range nodes {
		if i > 0 {
			out.WriteString(",")
		}
		if node.IsNil() {
			out.WriteString("null")
		} else {
			verifierWrite(out, node.Elem().FieldByName("Val"), depth+1)
		}
	}
	out.WriteString("]")
}

// ------------------------------------------------------------ from a value to JSON

func verifierText(out *bytes.Buffer, text string) {
	quoted, _ := json.Marshal(text)
	out.Write(quoted)
}

func verifierWrite(out *bytes.Buffer, v reflect.Value, depth int) {
	if depth > verifierMaxDepth {
		panic(verifierNotPlain{"value is nested too deeply"})
	}
	if out.Len() > verifierMaxBytes {
		panic(verifierNotPlain{"the value is too large"})
	}
	switch v.Kind() {
	case reflect.Bool:
		out.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		out.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint8: // a byte is a character
		verifierText(out, string([]byte{byte(v.Uint())}))
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		out.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		text := strconv.FormatFloat(v.Float(), 'g', -1, 64)
		switch {
		case math.IsNaN(v.Float()):
		case math.IsInf(v.Float(), 0):
			text = strings.Replace(strings.TrimPrefix(text, "+"), "Inf", "Infinity", 1)
		case !strings.ContainsAny(text, ".e"):
			text += ".0"
		}
		out.WriteString(text)
	case reflect.String:
		verifierText(out, v.String())
	case reflect.Slice, reflect.Array:
		out.WriteString("[")
		for i := 0; i < v.Len(); i++ {
			if i > 0 {
				out.WriteString(",")
			}
			verifierWrite(out, v.Index(i), depth+1)
		}
		out.WriteString("]")
	case reflect.Map:
		out.WriteString("{")
		for i, key := range v.MapKeys() {
			if i > 0 {
				out.WriteString(",")
			}
			if key.Kind() == reflect.String || key.Kind() == reflect.Uint8 {
				verifierWrite(out, key, depth+1)
			} else {
				verifierText(out, fmt.Sprint(key.Interface()))
			}
			out.WriteString(":")
			verifierWrite(out, v.MapIndex(key), depth+1)
		}
		out.WriteString("}")
	case reflect.Ptr, reflect.Interface:
		switch {
		case verifierIsNode(v.Type()):
			verifierWriteNode(out, v, depth)
		case v.IsNil():
			out.WriteString("null")
		default:
			verifierWrite(out, v.Elem(), depth+1)
		}
	default:
		panic(verifierNotPlain{"a " + v.Type().String()})
	}
}
