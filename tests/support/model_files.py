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
