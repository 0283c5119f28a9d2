"""What the tests of text models share."""

import subprocess
import sys


def ask_in_new_process(file, text):
    """What the model in a file says of a text, and whether scikit-learn was loaded to say it."""
    code = (
        "import sys; from pathlib import Path; from socialcrawl.crawls.text_models.model_file import read_model\n"
        f"model = read_model(Path({str(file)!r}))\n"
        f"print(model.hits({text!r}), 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def write_labels(path, each):
    """Write as many labels of posts on telescopes as of posts on meals; the path."""
    rows = [f"a{n},a telescope number {n},yes\nb{n},dinner number {n},no" for n in range(each)]
    path.write_text("id,text,on_topic\n" + "\n".join(rows) + "\n", "utf-8")
    return path
