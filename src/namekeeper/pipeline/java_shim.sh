#!/bin/sh
# The same as the script in java.py, for a temporary folder in which nothing can be run: there, bin/java is a
# link to this file, and the file `java` names the Java.
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "$(cat "$JAVA_HOME/java")" "$@"
