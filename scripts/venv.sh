# Sourced by scripts that need packages of Python: `venv NAME FOLDER REQUIREMENTS WHAT` makes a virtual environment
# in FOLDER, unless there is one of these requirements, with the interpreter that PYTHON names. Errors begin with
# NAME and end the script with 2; WHAT is what is installed, in words.
venv() {
  local name=$1 dir=$2 requirements=$3 what=$4 python=${PYTHON:-python3}
  # The copy of the requirements is written last: without it the environment is unfinished, or made from others.
  if cmp -s "$requirements" "$dir/requirements.txt"; then return; fi
  command -v "$python" >/dev/null || { echo "$name: $python is not there; sudo apt-get install python3 python3-venv" >&2; exit 2; }
  echo "$name: installing $what into $dir" >&2
  rm -rf "$dir"
  "$python" -m venv "$dir" || { echo "$name: no virtual environment; sudo apt-get install python3 python3-venv" >&2; exit 2; }
  "$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" ||
    { echo "$name: $what could not be installed from the Python registry" >&2; exit 2; }
  cp "$requirements" "$dir/requirements.txt"
}
